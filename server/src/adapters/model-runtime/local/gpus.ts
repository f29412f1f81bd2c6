import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** An NVIDIA GPU of this host. */
export interface Gpu {
  uuid: string
  /** As nvidia-smi prints it, such as `NVIDIA L4` */
  name: string
  memoryBytes: number
  driverVersion: string
  /** Such as 8.9; null when unknown */
  computeCapability: number | null
}

type Environment = Record<string, string | undefined>

/** Lists the NVIDIA GPUs that `CUDA_VISIBLE_DEVICES` allows; none without nvidia-smi or if it fails. */
export async function findGpus(environment: Environment): Promise<Gpu[]> {
  const lines = await query('index,uuid,name,memory.total,driver_version', environment)
  if (lines === '') return []
  return parseGpus(lines, await query('uuid,compute_cap', environment), environment['CUDA_VISIBLE_DEVICES'])
}

async function query(fields: string, environment: Environment): Promise<string> {
  const args = [`--query-gpu=${fields}`, '--format=csv,noheader,nounits']
  try {
    return (await run('nvidia-smi', args, { timeout: 10_000, env: environment })).stdout
  } catch {
    return ''
  }
}

/** Parses nvidia-smi's index, UUID, name, MiB, driver; UUID, capability (unknown before driver 510). */
export function parseGpus(lines: string, capabilities: string, visible: string | undefined): Gpu[] {
  const chosen = visible?.split(',').map((item) => item.trim())
  const capabilityOf = new Map(splitRows(capabilities).map(([uuid, capability]) => [uuid, capability]))
  return splitRows(lines).flatMap(
    ([index = '', uuid = '', name = '', mebibytes = '', driverVersion = '']) => {
      const isHidden =
        chosen !== undefined &&
        !chosen.some((item) => item === index || (item !== '' && uuid.startsWith(item)))
      const memoryBytes = Number(mebibytes) * 2 ** 20
      if (isHidden || !/^[\w-]+$/.test(uuid) || !(memoryBytes > 0)) return []
      const capability = capabilityOf.get(uuid) ?? ''
      const computeCapability = /^\d{1,2}\.\d$/.test(capability) ? Number(capability) : null
      return { uuid, name, memoryBytes, driverVersion, computeCapability }
    },
  )
}

function splitRows(lines: string): string[][] {
  return lines.split('\n').map((line) => line.split(',').map((field) => field.trim()))
}
