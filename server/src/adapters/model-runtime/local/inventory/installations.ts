import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { compareVersions } from '../../../../base/compare-versions.ts'
import { readJson, unlessGone } from '../files.ts'

/** What `engines install` can install. */
export const packageNames = ['vllm', 'llama.cpp', 'cuda', 'xinference'] as const
export type PackageName = (typeof packageNames)[number]

/** What Berth has installed, in `DATA_DIR/engines/<name>-<version>`. */
export interface Installation {
  name: PackageName
  version: string
  folder: string
}

/** The last file that an installation writes. Without it, the folder is an interrupted installation. */
export const markerFile = 'berth-installation.json'

/** The folder of all installations, and of the engines' state. */
export function installationsFolder(dataDirectory: string): string {
  return join(dataDirectory, 'engines')
}

/** Splits the name of a folder, such as `vllm-0.33.0`; null if it isn't that of an installation. */
export function parseFolderName(folderName: string): { name: PackageName; version: string } | null {
  const name = packageNames.find((each) => folderName.startsWith(`${each}-`))
  const version = name === undefined ? '' : folderName.slice(name.length + 1)
  return name !== undefined && /^\d[\w.+!]*$/.test(version) ? { name, version } : null
}

/** Lists the complete installations of a host. */
export async function listInstallations(dataDirectory: string): Promise<Installation[]> {
  const root = installationsFolder(dataDirectory)
  const names = (await unlessGone(readdir(root), [])).toSorted((one, other) => (one < other ? -1 : 1))
  const found = await Promise.all(
    names.map(async (folderName): Promise<Installation[]> => {
      const parsed = parseFolderName(folderName)
      if (parsed === null) return []
      const folder = join(root, folderName)
      return (await readJson(join(folder, markerFile))) === null ? [] : [{ ...parsed, folder }]
    }),
  )
  return found.flat()
}

/** Compares versions such as `0.33.0.post1` by their numbers. */
export function compareVersionTexts(one: string, other: string): number {
  const [ones, others] = [one, other].map((text) => text.match(/\d+/g)?.join('.') ?? '0')
  return compareVersions(ones!, others!) || compareVersions(others!, ones!) * -1
}
