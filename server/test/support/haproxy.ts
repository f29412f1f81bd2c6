import { execFileSync, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { findFreePort } from '../../src/base/free-port.ts'
import { waitUntil } from './process.ts'

/** True if this machine has haproxy. */
export function hasHaproxy(): boolean {
  try {
    execFileSync('haproxy', ['-v'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Starts haproxy with the configuration of docs/operations.md in front of APIs. Returns its address. */
export async function startHaproxy(urls: readonly string[], cleanup: AsyncDisposableStack): Promise<string> {
  const page = await readFile(resolve(import.meta.dirname, '../../../docs/operations.md'), 'utf8')
  const [, documented] = /```haproxy\n([^]*?)```/.exec(page) ?? []
  if (documented === undefined) throw new Error('operations.md has no configuration of haproxy')
  const port = await findFreePort()
  const servers = urls.map((url, index) => `  server api${index} ${new URL(url).host}`)
  const configuration = documented
    .replace(/bind :\d+/, `bind 127.0.0.1:${port}`)
    .replaceAll(/^ {2}server .*\n/gm, '')
    .concat(servers.join('\n'), '\n')
  const folder = await mkdtemp(join(tmpdir(), 'berth-haproxy-'))
  cleanup.defer(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'haproxy.cfg')
  await writeFile(file, configuration)
  const child = spawn('haproxy', ['-db', '-f', file], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
  const exited = new Promise((ended) => child.once('exit', ended))
  cleanup.defer(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const address = `http://127.0.0.1:${port}`
  await waitUntil(
    () =>
      fetch(`${address}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    30_000,
    () => `haproxy: ${output}`,
  )
  return address
}
