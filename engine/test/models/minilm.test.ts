import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { startEngine } from '../support/engine.ts'

const python = process.env['TEST_PYTHON_MODELS']!
const script = fileURLToPath(new URL('minilm.py', import.meta.url))

const texts = [
  'A ship lies at its berth.',
  'Das Schiff liegt am Liegeplatz.',
  'UPPER case and Ünïcödé',
  '船が停泊している。',
  'Emoji 👩‍👩‍👧 and flags 🇫🇷',
  '   white \t space \n',
  'punctuation... (really?) — "yes"!',
  'a',
  'word '.repeat(300),
  'int main(void) { return 0; }',
]

interface Vector {
  tokens: number
  vector: number[]
}

test('the vectors of all-MiniLM-L6-v2 equal a reference in double precision', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-minilm-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const model = join(folder, 'minilm.gguf')
  const output = execFileSync(python, [script, process.env['TEST_MINILM']!, model], {
    input: JSON.stringify(texts),
    maxBuffer: 2 ** 26,
  })
  const expected = JSON.parse(output.toString()) as Vector[]
  const flags = { '--model': model, '--type': 'embedding', '--context': '512', '--parallel': '1' }
  const engine = startEngine({ flags })
  onTestFinished(() => engine.stop())
  await engine.ready()

  const response = await engine.post('/v1/embeddings', { model: 'greeter', input: texts })
  const { data, usage } = (await response.json()) as {
    data: { embedding: number[] }[]
    usage: { prompt_tokens: number }
  }
  expect(usage.prompt_tokens).toBe(expected.reduce((sum, { tokens }) => sum + tokens, 0))
  for (const [index, { vector }] of expected.entries()) {
    const cosine = vector.reduce((sum, value, at) => sum + value * data[index]!.embedding[at]!, 0)
    expect.soft(cosine, texts[index]).toBeGreaterThan(0.99999)
  }
})
