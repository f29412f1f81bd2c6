// What happens around commands: readers that leave, servers that restart, sessions that end, and accounts
// without a home.
import { spawn } from 'node:child_process'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { registerClient } from '../../server/test/support/client.ts'
import type { Client } from '../../server/test/support/client.ts'
import { deploy } from '../../server/test/support/deployments.ts'
import { node, openShell, program } from './support/command.ts'
import type { Shell } from './support/command.ts'
import { startServerWithEngine, streamed } from './support/engine.ts'
import type { ServerWithEngine } from './support/engine.ts'
import { startRelay } from './support/relay.ts'
import type { Relay } from './support/relay.ts'
import { openTerminal } from './support/terminal.ts'

let served: ServerWithEngine
let relay: Relay
let client: Client
let shell: Shell

beforeAll(async () => {
  served = await startServerWithEngine()
  served.engine.answer((response) =>
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(streamed('Hello.')),
  )
  relay = await startRelay(served.server.url)
  client = await registerClient(served.server.url)
  await deploy(client)
  shell = await openShell({ BERTH_URL: relay.url }, client)
})

afterAll(async () => {
  await shell.close()
  await relay.stop()
  await served.close()
})

/** Runs a line of bash in which `berth` is the command line. */
async function runBash(line: string): Promise<{ code: number | null; output: string }> {
  const script = `set -o pipefail; berth() { "${node}" "${program}" "$@"; }; ${line}`
  const child = spawn('bash', ['-c', script], { env: shell.env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  }
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, output }
}

test('a reader that leaves ends a command without an error', async () => {
  // The catalog does not fit into a pipe.
  expect(await runBash('berth models --json | head -n 1')).toEqual({ code: 0, output: '[\n' })
  const errors = await runBash('berth show nothing 2> >(exec 0<&-); echo $?')
  expect(errors.output).toBe('1\n')
})

test('pipes lead from one command to the next', async () => {
  const named = await runBash(`berth ls --json | grep -o '^    "id": "[^"]*"' | cut -d '"' -f 4`)
  expect(named.output).toMatch(/^[\da-f-]{36}\n$/)
  const answered = await runBash(`echo Hi | berth chat ${named.output.trim()} | tr a-z A-Z`)
  expect(answered).toEqual({ code: 0, output: 'HELLO.\n' })
})

test('a conversation goes on after the server restarts', async () => {
  const terminal = openTerminal(shell, ['chat', 'berth-tiny'])
  await terminal.see('> ')
  await relay.stop()
  terminal.type('Are you there?\r')
  await terminal.see('does not respond')
  await relay.start()
  await terminal.see('> ')
  terminal.type('And now?\r')
  await terminal.see('Hello.')
  await terminal.see('> ')
  terminal.type('\u0004')
  expect(await terminal.exited).toBe(0)
})

test('a session that ends is a 4, and within a connection a 401', async () => {
  const own = await registerClient(served.server.url)
  const desk = await openShell({ BERTH_URL: relay.url }, own)
  const { child, output, result } = desk.start(['connect', '--port', '0', '--json'])
  const { base_url: url, key } = await vi.waitFor(() => JSON.parse(output.stdout), { timeout: 20_000 })
  const ask = () => fetch(`${url}/models`, { headers: { authorization: `Bearer ${key}` } })
  expect((await ask()).status).toBe(200)
  await own.post('/v1/user/logout')
  const refused = await ask()
  expect(refused.status).toBe(401)
  const ended = 'The session of `berth connect` has ended. Start it again with another BERTH_SESSION.'
  expect(await refused.json()).toMatchObject({ error: { message: ended } })
  expect((await ask()).status).toBe(401)
  expect(output.stderr.split('\n').filter((line) => line === ended)).toHaveLength(1)
  expect(await desk.berth(['whoami'])).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(/sign in|berth login/i),
  })
  child.kill('SIGINT')
  await result
  await desk.close()
})

test('a connection says once that its session has ended, and goes on after the next sign-in', async () => {
  const own = await registerClient(served.server.url)
  await deploy(own)
  const desk = await openShell({ BERTH_URL: relay.url })
  const signIn = ['login', relay.url, '--email', own.email, '--password-stdin']
  expect(await desk.berth(signIn, own.password)).toMatchObject({ code: 0 })
  const { child, output, result } = desk.start(['connect', '--port', '0', '--json'])
  const { base_url: url, key } = await vi.waitFor(() => JSON.parse(output.stdout), { timeout: 20_000 })
  const ask = () => fetch(`${url}/models`, { headers: { authorization: `Bearer ${key}` } })
  const ended = 'The session of `berth connect` has ended. Run `berth login`.'
  const tellings = () => output.stderr.split('\n').filter((line) => line === ended)

  // Ends all sessions but the one of the registration.
  await own.delete('/v1/auth/sessions')
  // The server remembers a session for a second.
  const refused = await vi.waitFor(
    async () => {
      const response = await ask()
      expect(response.status).toBe(401)
      return response
    },
    { timeout: 20_000 },
  )
  expect(await refused.json()).toMatchObject({ error: { message: ended } })
  expect((await ask()).status).toBe(401)
  expect(tellings()).toHaveLength(1)

  expect(await desk.berth(signIn, own.password)).toMatchObject({ code: 0 })
  expect((await ask()).status).toBe(200)
  await desk.berth(['logout'])
  expect(await (await ask()).json()).toMatchObject({ error: { message: ended } })
  await vi.waitFor(() => expect(tellings()).toHaveLength(2), { timeout: 20_000 })
  child.kill('SIGINT')
  await result
  await desk.close()
})

test('without a home, a session of the environment works', async () => {
  const homeless = await openShell({ BERTH_URL: relay.url, HOME: '', BERTH_CONFIG_DIR: '' }, client)
  expect((await homeless.berth(['whoami'])).code).toBe(0)
  delete homeless.env['HOME']
  expect((await homeless.berth(['ls'])).code).toBe(0)
  await homeless.close()
})
