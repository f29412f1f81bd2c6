import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { sampleLanguages, writeSample } from './code-samples.ts'
import { writeFirstBody } from './curl-sample.ts'

const awkward = `It's "quoted" \\ $HOME \`date\`\nand é 😀`
const request = {
  kind: 'chat' as const,
  origin: 'http://localhost:8080',
  body: {
    model: 'm',
    messages: [{ role: 'user', content: awkward }],
    temperature: 0.5,
    top_k: 40,
    stream: true,
    stop: null,
  },
}

it('writes a shell command that sends the body unchanged', () => {
  const script = `curl() { printf '%s\\0' "$@"; }\n${writeSample('curl', request)}`
  const sent = execFileSync('sh', ['-c', script], {
    env: { ...process.env, BERTH_COOKIE: 'session=a b' },
    encoding: 'utf8',
  }).split('\0')
  expect(sent).toContain('session=a b')
  expect(JSON.parse(sent.at(-2) ?? '')).toEqual(request.body)
})

it('writes JavaScript literals that evaluate to the body', () => {
  const [, literal = ''] =
    /completions\.create\(([\s\S]*?)\)\nfor await/.exec(writeSample('javascript', request)) ?? []
  // oxlint-disable-next-line no-eval
  expect((0, eval)(`(${literal})`)).toEqual(request.body)
})

it('passes fields that the Python client does not know in extra_body', () => {
  const sample = writeSample('python', request)
  expect(sample).toContain('extra_body={"top_k": 40},')
  expect(sample).toContain('stream=True,')
  expect(sample).toContain('stop=None,')
})

it.each(['embeddings', 'rerank'] as const)('writes a sample of %s in every language', (kind) => {
  const body = writeFirstBody('dep-1', kind)
  for (const language of sampleLanguages) {
    const sample = writeSample(language, { ...request, kind, body })
    expect(sample).toContain(kind)
    expect(sample).toContain('dep-1')
  }
})
