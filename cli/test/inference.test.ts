import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { registerClient } from '../../server/test/support/client.ts'
import { deploy } from '../../server/test/support/deployments.ts'
import { answerJson } from '../../server/test/support/recording-engine.ts'
import { openShell } from './support/command.ts'
import type { Shell } from './support/command.ts'
import { chunk, startServerWithEngine, streamed } from './support/engine.ts'
import type { ServerWithEngine } from './support/engine.ts'
import { openTerminal } from './support/terminal.ts'

const events = { 'content-type': 'text/event-stream' }

let served: ServerWithEngine
let shell: Shell

beforeAll(async () => {
  served = await startServerWithEngine()
  const client = await registerClient(served.server.url)
  await Promise.all([deploy(client), deploy(client, 'berth-tiny-embedding')])
  shell = await openShell({ BERTH_URL: served.server.url }, client)
})

afterAll(async () => {
  await shell.close()
  await served.close()
})

function answerWith(...pieces: string[]): void {
  served.engine.answer((response) => response.writeHead(200, events).end(streamed(...pieces)))
}

const lastMessages = () => JSON.parse(served.engine.last().body).messages

test('chat streams the answer to stdout, and adds what is piped in to the prompt', async () => {
  answerWith('Hello, ', 'Ada.')
  const result = await shell.berth(
    ['chat', 'berth-tiny', 'Summarize:', '--system', 'Be brief.'],
    'a long text\n',
  )
  expect(result).toMatchObject({ code: 0, stdout: 'Hello, Ada.\n', stderr: '' })
  expect(lastMessages()).toEqual([
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Summarize:\n\na long text\n' },
  ])
  expect((await shell.berth(['chat', 'berth-tiny'], 'Hello!')).stdout).toBe('Hello, Ada.\n')
  expect(await shell.berth(['chat', 'berth-tiny'])).toMatchObject({ code: 2 })
})

test('chat and embed name the command for a model of another type', async () => {
  const words: [string[], string][] = [
    [
      ['chat', 'berth-tiny-embedding', 'Hello!'],
      'an embedding model. Try `berth embed berth-tiny-embedding TEXT`.',
    ],
    [['chat', 'berth-tiny-embedding', 'Hello!', '--json'], 'Try `berth embed berth-tiny-embedding TEXT`.'],
    [['embed', 'berth-tiny', 'Hello!'], 'berth-tiny is a chat model. Try `berth chat berth-tiny`.'],
  ]
  for (const [command, message] of words) {
    const refused = await shell.berth(command)
    expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(message) })
    expect(refused.stderr).not.toContain('/v1/')
  }
})

test('chat --json prints the completion', async () => {
  const completion = { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [] }
  served.engine.answer((response) => answerJson(response, JSON.stringify(completion)))
  expect(await shell.json(['chat', 'berth-tiny', 'Hello!'])).toMatchObject({ object: 'chat.completion' })
})

test('an error of the server or within a stream ends chat with 1', async () => {
  expect(await shell.berth(['chat', 'nothing', 'Hello!'])).toMatchObject({ code: 1, stdout: '' })
  served.engine.answer((response) => {
    response.writeHead(200, events).end(`${chunk('Hel')}data: {"error": {"message": "out of memory"}}\n\n`)
  })
  const broken = await shell.berth(['chat', 'berth-tiny', 'Hello!'])
  expect(broken).toMatchObject({ code: 1, stdout: 'Hel\n', stderr: expect.stringContaining('broke off') })
})

test('Ctrl-C during an answer stops the engine and ends with 130', async () => {
  served.engine.answer((response) => void response.writeHead(200, events).write(chunk('Once upon')))
  const { child, output, result } = shell.start(['chat', 'berth-tiny', 'Tell a story.'])
  await vi.waitFor(() => expect(output.stdout).toBe('Once upon'), { timeout: 20_000 })
  child.kill('SIGINT')
  expect(await result).toMatchObject({ code: 130, signal: null })
  await vi.waitFor(() => expect(served.engine.last().aborted).toBe(true), { timeout: 10_000 })
})

test('a conversation on a terminal keeps its history; Ctrl-C stops an answer, then the conversation', async () => {
  answerWith('Hi.')
  const terminal = openTerminal(shell, ['chat', 'berth-tiny'])
  await terminal.see('> ')
  terminal.type('Hello!\r')
  await terminal.see('Hi.')
  await terminal.see('> ')
  served.engine.answer((response) => void response.writeHead(200, events).write(chunk('Once \u001B[2Jupon')))
  terminal.type('Tell \\\ra story.\r')
  // The model can't clear the screen.
  await terminal.see('Once upon')
  expect(lastMessages()).toEqual([
    { role: 'user', content: 'Hello!' },
    { role: 'assistant', content: 'Hi.' },
    { role: 'user', content: 'Tell \na story.' },
  ])
  terminal.type('\u0003')
  await terminal.see('Stopped.')
  await vi.waitFor(() => expect(served.engine.last().aborted).toBe(true), { timeout: 10_000 })
  await terminal.see('> ')
  terminal.type('/clear\r')
  answerWith('Fresh.')
  terminal.type('Again!\r')
  await terminal.see('Fresh.')
  expect(lastMessages()).toEqual([{ role: 'user', content: 'Again!' }])
  await terminal.see('> ')
  terminal.type('\u0003')
  expect(await terminal.exited).toBe(130)
})

test('embed prints one vector for each text', async () => {
  served.engine.answer((response, { body }) => {
    const { input } = JSON.parse(body) as { input: string[] }
    const data = input.map((text, index) => ({ object: 'embedding', index, embedding: [text.length, 0.5] }))
    answerJson(
      response,
      JSON.stringify({ object: 'list', model: 'm', data, usage: { prompt_tokens: 1, total_tokens: 1 } }),
    )
  })
  expect((await shell.berth(['embed', 'berth-tiny-embedding', 'a ship'])).stdout).toBe('[6,0.5]\n')
  const lines = Array.from({ length: 70 }, (_, index) => 'x'.repeat(index + 1))
  const { stdout } = await shell.berth(['embed', 'berth-tiny-embedding', '--lines'], lines.join('\n'))
  expect(stdout.trim().split('\n')).toEqual(lines.map(({ length }) => `[${length},0.5]`))
  expect(await shell.json(['embed', 'berth-tiny-embedding', 'a'])).toEqual([
    { index: 0, embedding: [1, 0.5] },
  ])
})
