import { readFile, stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { registerClient } from '../../server/test/support/client.ts'
import { addTotp } from '../../server/test/support/second-factors.ts'
import { startTestServer } from '../../server/test/support/server.ts'
import type { TestServer } from '../../server/test/support/server.ts'
import { openShell } from './support/command.ts'
import type { Shell } from './support/command.ts'
import { openTerminal } from './support/terminal.ts'

type Person = Awaited<ReturnType<typeof registerClient>>

let server: TestServer
let ada: Person
const shells: Shell[] = []

beforeAll(async () => {
  server = await startTestServer({ worker: false })
  ada = await registerClient(server.url, {
    email: 'ada@example.com',
    organization: 'Analytical Engines',
    name: 'Ada',
  })
})

afterEach(async () => {
  for (const shell of shells.splice(0)) await shell.close()
})

afterAll(() => server.close())

async function shell(settings: Record<string, string> = {}, session?: Person): Promise<Shell> {
  const opened = await openShell(settings, session)
  shells.push(opened)
  return opened
}

async function signedIn({ email, password }: Person = ada): Promise<Shell> {
  const opened = await shell()
  const { code, stderr } = await opened.berth(
    ['login', server.url, '-e', email, '--password-stdin'],
    `${password}\n`,
  )
  expect(code, stderr).toBe(0)
  return opened
}

test('login keeps the session in a file that only its owner can read', async () => {
  const { berth, configDirectory } = await signedIn()
  const file = join(configDirectory, 'sessions.json')
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(await readFile(file, 'utf8')).not.toContain(ada.password)
  const { code, stdout } = await berth(['whoami'])
  expect(code).toBe(0)
  expect(stdout).toContain('ada@example.com')
})

test('--json prints one document with what the API returns', async () => {
  const { json } = await signedIn()
  expect(await json(['whoami'])).toMatchObject({
    url: server.url,
    user: { email: 'ada@example.com', name: 'Ada' },
  })
  expect(await json(['orgs'])).toMatchObject([{ name: 'Analytical Engines', current: true }])
})

test('switch takes a slug or a name, and names the choices', async () => {
  const { berth, json } = await signedIn()
  expect((await berth(['switch', 'analytical engines'])).stdout).toBe(
    'Your organization is now Analytical Engines.\n',
  )
  const { code, stderr } = await berth(['switch', 'other'])
  expect(code).toBe(1)
  expect(stderr).toBe('You are not a member of other. Your organizations are analytical-engines.\n')
  expect((await json(['orgs']))[0].slug).toBe('analytical-engines')
})

test('logout ends the session at the server; commands then end with 4', async () => {
  const { berth, configDirectory } = await signedIn()
  const { servers } = JSON.parse(await readFile(join(configDirectory, 'sessions.json'), 'utf8'))
  expect((await berth(['logout'])).code).toBe(0)
  const session = await shell({ BERTH_URL: server.url, BERTH_SESSION: servers[server.url].cookie })
  for (const { code, stderr } of [await berth(['whoami']), await session.berth(['whoami'])]) {
    expect(code).toBe(4)
    expect(stderr).toContain('berth login')
  }
})

test('errors say what to do; --debug adds the request id', async () => {
  const { berth } = await shell()
  const wrong = ['login', server.url, '-e', ada.email, '--password-stdin']
  const { code, stdout, stderr } = await berth(wrong, 'wrong password\n')
  expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: 'Invalid email or password.\n' })
  expect((await berth([...wrong, '--debug'], 'wrong password\n')).stderr).toMatch(/\nRequest id: [\w-]+\n/)
  expect(await berth(['lgoin'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Did you mean login?'),
  })
  expect(await berth(['login', server.url])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--email'),
  })
  for (const address of ['ftp://x y', 'ftp://x', 'file:///etc']) {
    expect(await berth(['login', address])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is not the address of a server'),
    })
  }
  const elsewhere = await shell({ BERTH_URL: 'ftp://x', BERTH_SESSION: 'session=abc' })
  expect(await elsewhere.berth(['whoami'])).toMatchObject({ code: 2 })
  const gone = await berth(['login', 'localhost:2', '-e', 'a@example.com', '--password-stdin'], 'x\n')
  expect(gone).toMatchObject({ code: 1, stderr: expect.stringContaining('does not respond: ECONNREFUSED') })
})

test('help shows a command, also one of a group, and fails for an unknown one', async () => {
  const { berth } = await shell()
  expect((await berth(['help'])).stdout).toMatch(/\n {2}deploy /)
  expect((await berth(['help', 'bill', 'proof'])).stdout).toContain('Usage: berth bill proof')
  for (const unknown of [['lgoin'], ['bill', 'prof']]) {
    const failed = await berth(['help', ...unknown])
    expect(failed).toMatchObject({ code: 2, stdout: '' })
    expect(failed.stderr).toMatch(/^error: /)
  }
  expect((await berth(['help', 'lgoin'])).stderr).toContain('Did you mean login?')
})

test('a home that cannot be written stops a login before it begins, but not BERTH_SESSION', async () => {
  const readOnly = { HOME: '/dev/null', BERTH_CONFIG_DIR: '', BERTH_URL: server.url }
  const sessions = async () => (await ada.get('/v1/auth/sessions')).body.length
  const before = await sessions()
  const { berth } = await shell(readOnly)
  const failed = await berth(['login', '-e', ada.email, '--password-stdin'], `${ada.password}\n`)
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('Set BERTH_CONFIG_DIR') })
  expect(await sessions()).toBe(before)
  expect((await (await shell(readOnly, ada)).berth(['whoami'])).code).toBe(0)
})

test('a session goes to its own server only', async () => {
  const requests: IncomingMessage[] = []
  const other = createServer((request, response) => {
    requests.push(request)
    response.writeHead(302, { location: server.url }).end()
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => other.once('listening', resolve))
  const otherUrl = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
  const { berth, env } = await signedIn()
  env['BERTH_URL'] = otherUrl
  expect(await berth(['whoami'])).toMatchObject({ code: 4 })
  expect(requests).toEqual([])
  env['BERTH_SESSION'] = 'berth_session=abc'
  expect((await berth(['whoami'])).stderr).toContain('redirects to')
  expect(requests).toHaveLength(1)
  other.close()
})

test('login --sso takes a session for scripts', async () => {
  const { password } = ada
  const created = await ada.post('/v1/auth/sessions', { name: 'berth', password })
  const { berth } = await shell()
  expect((await berth(['login', '--sso', server.url], 'nonsense\n')).code).toBe(2)
  const { code, stderr } = await berth(['login', '--sso', server.url], `${created.body.cookie}\n`)
  expect(code, stderr).toBe(0)
  expect(stderr).toContain('/profile#sessions-for-scripts')
  expect((await berth(['whoami'])).stdout).toContain('ada@example.com')
})

test('login asks for the email, the password and the second factor on a terminal, and shows no secret', async () => {
  const grace = await registerClient(server.url)
  const app = await addTotp(grace)
  const terminal = openTerminal(await shell(), ['login', server.url])
  await terminal.see('Email')
  terminal.type(`${grace.email}\r`)
  await terminal.see('Password')
  terminal.type(`${grace.password}\r`)
  await terminal.see('authenticator app')
  terminal.type(`${app.code()}\r`)
  await terminal.see(`Signed in to ${server.url}`)
  expect(await terminal.exited).toBe(0)
  expect(terminal.output()).not.toContain(grace.password)
})

test('Ctrl-C at a prompt ends with 130', async () => {
  const terminal = openTerminal(await shell(), ['login', server.url])
  await terminal.see('Email')
  terminal.type('\u0003')
  expect(await terminal.exited).toBe(130)
})

test('a table fits a narrow terminal; NO_COLOR removes colors', async () => {
  const long = await registerClient(server.url, {
    organization: `The ${'very '.repeat(20)}long organization`,
  })
  const opened = await shell({ BERTH_URL: server.url }, long)
  const escape = '\u001B['
  const colored = openTerminal(opened, ['orgs'], 40)
  await colored.exited
  expect(colored.output()).toContain(escape)
  opened.env['NO_COLOR'] = '1'
  const plain = openTerminal(opened, ['orgs'], 40)
  await plain.exited
  expect(plain.output()).not.toContain(escape)
  expect(plain.output()).toContain('…')
  for (const line of plain.output().split('\r\n')) expect(line.length).toBeLessThanOrEqual(40)
})
