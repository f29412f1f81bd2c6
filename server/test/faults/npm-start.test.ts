import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import {
  childEnvironment,
  createDataDirectory,
  findPostmaster,
  removeDataDirectory,
  signal,
} from '../support/process.ts'

const root = resolve(import.meta.dirname, '../../..')
const patience = 120_000

let directory: string
beforeEach(async () => {
  directory = await createDataDirectory()
})

/** Starts the server as the README does. npm, its shell and the server have their own process group. */
async function start() {
  const child = spawn('npm', ['start'], {
    cwd: root,
    env: { ...childEnvironment(), DATA_DIR: directory, DATABASE_URL: '', PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const exited = new Promise((done) => child.once('close', (code, by) => done(by ?? code)))
  onTestFinished(async () => {
    signal(-child.pid!, 'SIGKILL')
    await exited
    await removeDataDirectory(directory)
  })
  const { promise: listening, resolve: listens, reject } = Promise.withResolvers<string>()
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
      const address = /listening on (http:\/\/[^\s"]+)/.exec(output)?.[1]
      if (address !== undefined) listens(address)
    })
  }
  void exited.then(() => reject(new Error(output)))
  return { pid: child.pid!, url: await listening, exited, output: () => output }
}

test.each([
  ['SIGTERM to npm', 'SIGTERM', 1],
  // As Ctrl-C in a terminal. npm passes its signal on, so the server gets two.
  ['SIGINT to npm, its shell and the server', 'SIGINT', -1],
] as const)('%s stops the server in order', { timeout: patience }, async (_what, name, sign) => {
  const { pid, url, exited, output } = await start()
  expect((await fetch(`${url}/readyz`)).status).toBe(200)
  process.kill(sign * pid, name)
  expect(await exited, output()).toBe(0)
  expect(output()).toContain('shutting down')
  await expect(fetch(`${url}/readyz`)).rejects.toThrow('fetch failed')
  expect(await findPostmaster(directory)).toBeNull()
})
