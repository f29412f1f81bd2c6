import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { sampleLanguages, writeFirstBody, writeSample } from './code-samples.ts'

const awkward = `It's "quoted" \\ $HOME \`date\`\nand é 😀`
const request = {
  kind: 'chat' as const,
  origin: 'http://localhost:8080',
  email: `o'hara|"jr"@example.com`,
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
  const script = `curl() { for last; do :; done; printf '%s\\0' "$last"; }\n${writeSample('curl', request)}`
  const password = String.raw`se"cr\et\ $HOME 'é`
  const [signIn = '', body = ''] = execFileSync('sh', ['-c', script], {
    env: { ...process.env, BERTH_PASSWORD: password },
    encoding: 'utf8',
  }).split('\0')
  expect(JSON.parse(signIn)).toEqual({ email: request.email, password })
  expect(JSON.parse(body)).toEqual(request.body)
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

it('writes an embeddings sample in every language', () => {
  const body = writeFirstBody('dep-1', 'embeddings')
  for (const language of sampleLanguages) {
    const sample = writeSample(language, { ...request, kind: 'embeddings', body })
    expect(sample).toContain('embeddings')
    expect(sample).toContain('dep-1')
  }
})
