import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer } from '../../server/test/support/server.ts'
import { node, program } from './support/command.ts'

const workspace = join(import.meta.dirname, '..')
const archive = join(workspace, 'berth-cli.tgz')
const mebibyte = 2 ** 20

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-package-'))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

test('the package has at most 2 MiB, and runs without its dependencies', async () => {
  expect((await stat(archive)).size).toBeLessThan(2 * mebibyte)
  execFileSync('tar', ['-xzf', archive, '-C', folder])
  const unpacked = join(folder, 'package/bin/berth.mjs')
  const run = (...args: string[]) => execFileSync(node, [unpacked, ...args], { encoding: 'utf8', env: {} })
  expect(run('--version')).toMatch(/^\d+\.\d+\.\d+\n$/)
  for (const command of ['login', 'deploy', 'connect', 'mcp'])
    expect(run(command, '--help')).toContain('Examples:')
})

test('npm installs the command line from a server, and asks no registry', async () => {
  const server = await startTestServer({ worker: false })
  const registry = createServer()
  const asked: (string | undefined)[] = []
  registry.on('request', ({ url }, response) => {
    asked.push(url)
    response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = registry.address() as AddressInfo
    const options = [
      '--prefix',
      folder,
      '--cache',
      join(folder, 'cache'),
      '--registry',
      `http://127.0.0.1:${port}`,
    ]
    const url = `${server.url}/downloads/berth-cli.tgz`
    // npm looks for a newer npm otherwise.
    await promisify(execFile)('npm', ['install', '--global', '--no-update-notifier', ...options, url])
    expect(asked).toEqual([])
    const installed = join(folder, 'bin/berth')
    expect(execFileSync(node, [installed, '--version'], { encoding: 'utf8' })).toMatch(/^\d+\.\d+\.\d+\n$/)
  } finally {
    registry.close()
    await server.close()
  }
})

test('a start reads little code: the rest loads with the command that needs it', async () => {
  const dist = join(workspace, 'dist')
  const seen = new Set<string>()
  const read = async (name: string): Promise<number> => {
    if (seen.has(name)) return 0
    seen.add(name)
    const code = await readFile(join(dist, name), 'utf8')
    const imports = [...code.matchAll(/\bfrom\s*["']\.\/([^"']+)["']|\bimport\s*["']\.\/([^"']+)["']/g)]
    const sizes = await Promise.all(imports.map(([, from, bare]) => read((from ?? bare)!)))
    return sizes.reduce((sum, size) => sum + size, code.length)
  }
  expect(await read('main.js')).toBeLessThan(100_000)
})

test('a start takes at most five times the processor time of Node’s own', () => {
  // On a busy machine, the time on the clock is mostly that of others.
  const report = `process.on('exit', () => {
    const { user, system } = process.cpuUsage()
    process.stderr.write(String((user + system) / 1000))
  })`
  const measure = (args: readonly string[]) => {
    const all = ['--import', `data:text/javascript,${encodeURIComponent(report)}`, ...args]
    return Number(spawnSync(node, all, { encoding: 'utf8' }).stderr)
  }
  const rounds = Array.from({ length: 10 }, () => [measure([program, '--version']), measure(['--eval', '0'])])
  const [ours, bare] = [0, 1].map((column) => Math.min(...rounds.map((round) => round[column]!)))
  expect(bare).toBeGreaterThan(0)
  expect(ours! / bare!).toBeLessThan(5)
})
