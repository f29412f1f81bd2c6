import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { syncDirectory, readJson, writeJson } from '../local/files.ts'

/** The wish for a cluster: while the file exists, its programs are restarted after a loss. */
export interface ClusterRecord {
  /** Names the key of the supervisor */
  id: string
  /** An IPv4 address of this host */
  address: string
  /** Of the supervisor's API. The next two are of the supervisor and of the worker of this host. */
  port: number
  /** The folder of the installation */
  installation: string
  version: string
}

/** The folder of a cluster's files. */
export function clusterFolder(dataDirectory: string): string {
  return join(dataDirectory, 'cluster')
}

const recordPath = (dataDirectory: string) => join(clusterFolder(dataDirectory), 'cluster.json')

/** null without a cluster, or if the file is damaged */
export async function readClusterRecord(dataDirectory: string): Promise<ClusterRecord | null> {
  const { id, address, port, installation, version } = (await readJson(recordPath(dataDirectory))) ?? {}
  if (typeof id !== 'string' || typeof address !== 'string' || typeof port !== 'number') return null
  if (typeof installation !== 'string' || typeof version !== 'string') return null
  return { id, address, port, installation, version }
}

export async function writeClusterRecord(
  dataDirectory: string,
  wish: Omit<ClusterRecord, 'id'>,
): Promise<ClusterRecord> {
  const record = { id: randomUUID(), ...wish }
  await writeJson(recordPath(dataDirectory), record)
  return record
}

export async function removeClusterRecord(dataDirectory: string): Promise<void> {
  for (const name of ['cluster.json', 'machines.json']) {
    await rm(join(clusterFolder(dataDirectory), name), { force: true })
  }
  await syncDirectory(clusterFolder(dataDirectory))
}
