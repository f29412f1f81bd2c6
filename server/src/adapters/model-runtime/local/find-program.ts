import { access, constants, stat } from 'node:fs/promises'
import { delimiter, join } from 'node:path'

/** Finds an executable file in PATH as the operating system does, of the usable ones; null without one. */
export async function findProgram(
  name: string,
  searchPath: string,
  isUsable: (path: string) => Promise<boolean> = async () => true,
): Promise<string | null> {
  for (const folder of searchPath.split(delimiter).filter((each) => each !== '')) {
    const path = join(folder, name)
    const isExecutable = await access(path, constants.X_OK).then(
      async () => (await stat(path)).isFile(),
      () => false,
    )
    if (isExecutable && (await isUsable(path))) return path
  }
  return null
}
