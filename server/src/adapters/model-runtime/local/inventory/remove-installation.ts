import { rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { EngineChange } from '../../../../ports/host-engines.ts'
import { readClusterRecord } from '../../own-cluster/cluster-record.ts'
import { findEngines } from '../engine/engine-process.ts'
import { syncDirectory, unlessGone } from '../files.ts'
import type { LocalRuntimeSettings } from '../settings.ts'
import { readdir, readFile } from 'node:fs/promises'
import { installationsFolder, markerFile, parseFolderName } from './installations.ts'
import { deleteInstallation, lockInstallation, unlockInstallation } from './installation-lock.ts'

/** Deletes an installation. `instances` are the state folders of all instances. */
export async function removeInstallation(
  { dataDirectory }: Pick<LocalRuntimeSettings, 'dataDirectory'>,
  name: string,
  instances: readonly string[],
): Promise<EngineChange> {
  const root = installationsFolder(dataDirectory)
  const names = (await readdir(root)).filter((each) => parseFolderName(each) !== null)
  if (!names.includes(name)) {
    const known = names.length === 0 ? 'Nothing is installed.' : `Installed: ${names.join(', ')}.`
    return { refusal: `There is no installation ${name}. ${known}` }
  }
  if (basename((await readClusterRecord(dataDirectory))?.installation ?? '') === name)
    return { refusal: `${name} runs this installation's cluster. Run \`cluster stop\` first.` }
  const folder = join(root, name)
  const installer = await lockInstallation(folder)
  if (installer !== null)
    return { refusal: `Process ${installer} is installing ${name}. Wait for it, or end it.` }
  const users = await findUsers(folder, instances)
  if (users.length > 0) {
    await unlockInstallation(folder)
    return {
      refusal: `${name} is in use by ${users.length === 1 ? 'the instance' : 'the instances'} ${users.join(', ')}. Put its deployment to sleep or terminate it first.`,
    }
  }
  // Without the marker, the folder counts as an interrupted installation.
  await rm(join(folder, markerFile), { force: true })
  await syncDirectory(folder)
  await deleteInstallation(folder)
  return { name }
}

/** The instances whose processes run a program of an installation, or use its libraries */
async function findUsers(installation: string, instances: readonly string[]): Promise<string[]> {
  const users = await Promise.all(
    instances.map(async (instance) => {
      for (const { pid } of await findEngines(instance)) {
        const files = ['cmdline', 'environ', 'maps'].map((file) =>
          unlessGone(readFile(`/proc/${pid}/${file}`, 'utf8'), ''),
        )
        if ((await Promise.all(files)).some((text) => text.includes(`${installation}/`)))
          return [basename(instance)]
      }
      return []
    }),
  )
  return users.flat()
}
