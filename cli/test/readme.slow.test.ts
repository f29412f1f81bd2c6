import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer } from '../../server/test/support/server.ts'
import type { TestServer } from '../../server/test/support/server.ts'
import { node, program } from './support/command.ts'

const root = join(import.meta.dirname, '../..')
const readme = await readFile(join(root, 'README.md'), 'utf8')

let server: TestServer
let folder: string

beforeAll(async () => {
  server = await startTestServer()
  folder = await mkdtemp(join(tmpdir(), 'berth-readme-'))
  await symlink(program, join(folder, 'berth'))
  // Where `npm install openai` puts the package
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
})

afterAll(async () => {
  await server.close()
  await rm(folder, { recursive: true, force: true })
})

/** The samples of a section in a language. */
function readSamples(heading: string, language: string): string[] {
  const [, section = ''] = readme.split(`## ${heading}\n`)
  const [content = ''] = section.split('\n## ')
  const samples = content.matchAll(/```(\w+)\n([^]*?)```/g)
  return [...samples].flatMap(([, of, sample]) => (of === language ? [sample!] : []))
}

/** Runs lines in bash as shown, on the test's server. Returns all output; throws unless it ends with 0. */
async function runShell(script: string): Promise<string> {
  const prepared = `set -e\n${script.replaceAll('localhost:8080', new URL(server.url).host)}`
  const path = `${folder}:${dirname(node)}:${process.env['PATH']}`
  const child = spawn('bash', ['-c', prepared], {
    cwd: folder,
    env: { PATH: path, HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  }
  const code = await new Promise((resolve) => child.once('close', resolve))
  expect(code, output).toBe(0)
  return output
}

test('the samples of README.md run as shown', async () => {
  const [signUp = '', signIn = '', deploy = '', sleep = ''] = readSamples('Five minutes', 'sh')
  const [, password = ''] = /"password": "([^"]+)"/.exec(signUp) ?? []
  expect(await runShell(signUp)).toContain('"authenticated":true')
  // The installation is not the test's, and the password is typed.
  const [install, login] = signIn.trim().split('\n')
  expect(install).toContain('npm install --global ./cli')
  expect(await runShell(`echo '${password}' | ${login} --password-stdin`)).toContain('Signed in to')
  expect(await runShell(deploy)).toContain('berth-tiny is running')
  expect(await runShell(sleep)).toContain('berth-tiny sleeps.')

  const [code = ''] = readSamples('Your programs', 'js')
  const [use = ''] = readSamples('Your programs', 'sh')
  await writeFile(join(folder, 'chat.mjs'), code)
  const [answer, end] = [use.split('\n')[0]!, use.split('\n')[1]!]
  expect(await runShell(answer)).not.toBe('')
  expect(await runShell(end)).toContain('Terminating')
})
