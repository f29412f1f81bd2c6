import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** An executable Chromium and the environment that it needs. */
export interface Chromium {
  executablePath: string
  env: Record<string, string>
}

const systemPaths = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/**
 * Finds Chromium: `$CHROMIUM`, then the system's own, then the Linux build in the npm package
 * `@sparticuz/chromium`, which is unpacked once per version into the user's cache. Throws when the machine
 * can run none of them.
 */
export async function findChromium(): Promise<Chromium> {
  const { CHROMIUM: named } = process.env
  if (named !== undefined && !existsSync(named))
    throw new Error(`CHROMIUM names ${named}, which does not exist.`)
  const executablePath = named ?? systemPaths.find((path) => existsSync(path))
  return executablePath === undefined ? unpackChromium() : { executablePath, env: {} }
}

const fontsConfig = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`

async function unpackChromium(): Promise<Chromium> {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error(
      'This machine has no Chromium. Install it, or set CHROMIUM to the path of its executable.',
    )
  }
  const packageFolder = join(fileURLToPath(import.meta.resolve('@sparticuz/chromium')), '../..')
  const { version } = JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8'))
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')
  const folder = join(cache, 'berth', `chromium-${version}`)
  if (!existsSync(folder)) await unpackInto(folder, join(packageFolder, 'bin'))
  return {
    executablePath: join(folder, 'chromium'),
    env: { LD_LIBRARY_PATH: join(folder, 'al2023/lib'), FONTCONFIG_PATH: join(folder, 'fonts') },
  }
}

/**
 * The package unpacks into the temporary folder, so that is set to a new folder, which a rename publishes
 * whole.
 */
async function unpackInto(folder: string, archives: string): Promise<void> {
  await mkdir(dirname(folder), { recursive: true })
  const temporary = await mkdtemp(`${folder}.`)
  const { TMPDIR: before } = process.env
  process.env['TMPDIR'] = temporary
  try {
    const { default: packaged, inflate } = await import('@sparticuz/chromium')
    const executable = await packaged.executablePath()
    // NSS, NSPR and expat: a minimal image has none of these libraries.
    await inflate(join(archives, 'al2023.tar.br'))
    // The package's own file names /tmp/fonts.
    await writeFile(join(temporary, 'fonts/fonts.conf'), fontsConfig)
    await chmod(executable, 0o755)
    await rename(temporary, folder)
  } catch (error) {
    await rm(temporary, { recursive: true, force: true })
    if (!existsSync(folder)) throw error
  } finally {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
  }
}
