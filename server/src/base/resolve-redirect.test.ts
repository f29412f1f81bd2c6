import { expect, test } from 'vitest'
import { resolveRedirect } from './resolve-redirect.ts'

const httpsHub = new URL('https://huggingface.co/acme/model')
const httpHub = new URL('http://127.0.0.1:9000')
const mirror = new URL('http://mirror.lan:80')

test.each([
  [httpsHub, 'https://cdn.example/blob?s=1', 'https://cdn.example/blob?s=1'],
  [httpsHub, '/other', 'https://huggingface.co/other'],
  [httpHub, 'http://127.0.0.1:9001/blob', 'http://127.0.0.1:9001/blob'],
  [mirror, '/other', 'http://mirror.lan/other'],
  [mirror, 'https://cdn.example/blob', 'https://cdn.example/blob'],
])('a redirect of %s to %s is followed', (from, location, expected) => {
  expect(resolveRedirect(from, location)?.href).toBe(expected)
})

test.each([
  [httpsHub, 'http://huggingface.co/acme/model'],
  [httpsHub, 'http://127.0.0.1/secret'],
  [httpsHub, 'http://169.254.169.254/latest/meta-data'],
  [httpsHub, 'https://'],
  [httpsHub, 'https://10.0.0.1/secret'],
  [httpsHub, 'https://[fd00::1]/secret'],
  [httpsHub, 'https://localhost/secret'],
  [mirror, 'https://169.254.169.254/secret'],
  [mirror, 'http://169.254.169.254/latest/meta-data'],
  [mirror, 'http://10.0.0.1/secret'],
  [mirror, 'http://127.0.0.1/secret'],
  [httpHub, 'file:///etc/passwd'],
  [httpHub, 'http://127.0.0.1.evil.example/blob'],
  [httpHub, 'http://[broken'],
])('a redirect of %s to %s is refused', (from, location) => {
  expect(resolveRedirect(from, location)).toBeNull()
})
