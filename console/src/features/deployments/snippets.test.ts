import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { languages, writeSnippet } from './snippets.ts'

const input = {
  origin: 'https://berth.example',
  model: 'dep-1',
  email: `o'hara@example.com`,
  embedding: false,
}

test.each(languages)('%s signs in and calls the deployment', (language) => {
  const code = writeSnippet(language, input)
  expect(code).toContain('https://berth.example/v1/user/signin')
  expect(code).toContain('dep-1')
  expect(writeSnippet(language, { ...input, embedding: true })).toContain('embeddings')
})

test('a quote in an address does not end the shell’s', () => {
  const printed = execFileSync('bash', [
    '-c',
    `curl() { printf '%s\\n' "$@"; }; ${writeSnippet('curl', input)}`,
  ])
  expect(printed.toString()).toContain(`{"email": "o'hara@example.com", "password": "YOUR_PASSWORD"}`)
})
