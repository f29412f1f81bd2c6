import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer } from '../../server/test/support/server.ts'
import type { TestServer } from '../../server/test/support/server.ts'
import { node, program } from './support/command.ts'

const readme = await readFile(join(import.meta.dirname, '../../README.md'), 'utf8')

let server: TestServer
let folder: string

beforeAll(async () => {
  server = await startTestServer()
  folder = await mkdtemp(join(tmpdir(), 'berth-readme-'))
  await symlink(program, join(folder, 'berth'))
})

afterAll(async () => {
  await server.close()
  await rm(folder, { recursive: true, force: true })
})

/** The shell samples of a section. */
function readSamples(heading: string): string[] {
  const [, section = ''] = readme.split(`## ${heading}\n`)
  const [content = ''] = section.split('\n## ')
  return [...content.matchAll(/```sh\n([^]*?)```/g)].map(([, sample]) => sample!)
}

/** Runs lines in bash as shown, on the test's server. Returns all output; throws unless it ends with 0. */
async function runShell(script: string): Promise<string> {
  const prepared = `set -e; shopt -s expand_aliases\n${script.replaceAll('localhost:8080', new URL(server.url).host)}`
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

test('five minutes with curl, then with berth, and the sleep of a deployment', async () => {
  const [signUp, deploy, watch, call, end] = readSamples('Five minutes with curl')
  const alias = signUp!.split('\n', 1)[0]!
  expect(await runShell(signUp!)).toContain('"authenticated":true')
  const deployed = await runShell(`${alias}\n${deploy!}`)
  const [, id = ''] = /"id":"([\da-f-]{36})"/.exec(deployed) ?? []
  // The sample follows without end.
  const until = `until grep -q '"status":"running"' events; do sleep 0.1; done; kill $!`
  await runShell(`${watch!.trim().replace('<id>', id)} > events 2> /dev/null & ${until}`)
  const [chat, ...embeddings] = call!.split('\napi ')
  expect(await runShell(`${alias}\n${chat!}`)).toContain('data: [DONE]')
  expect(await runShell(`${alias}\napi ${embeddings[0]!}`)).toContain('"status":"requested"')
  await expect.poll(() => runShell(`${alias}\napi ${embeddings[1]!}`)).toContain('"embedding":[')
  expect(await runShell(`${alias}\n${end!.replaceAll('<id>', id)}`)).toContain('"status":"terminating"')

  const output = await runShell(readSamples('Five minutes with berth').join('\n'))
  expect(output).toContain('Signed in to')
  expect(output).toContain('berth-tiny is running')
  expect(output).toMatch(/\n\[-?\d\.\d+,/)

  const slept = await runShell(readSamples('Sleep and wake').join('\n'))
  expect(slept).toContain('berth-tiny sleeps.')
  expect(slept).toContain('Terminating')
})
