import { expect, test } from 'vitest'
import { resolveRedirect } from './fetch-bytes.ts'

const HUB = new URL('https://hub.example/berth/tiny/resolve/main/tiny.gguf')

test('follows relative redirects, to other hosts, and from http to https', () => {
  expect(resolveRedirect(HUB, '/moved/tiny.gguf').href).toBe('https://hub.example/moved/tiny.gguf')
  expect(resolveRedirect(HUB, 'https://cdn.example/blob?s=1').href).toBe('https://cdn.example/blob?s=1')
  expect(resolveRedirect(new URL('http://a.example/x'), 'https://b.example/y').href).toBe(
    'https://b.example/y',
  )
})

test('rejects redirects from https to http and to other schemes', () => {
  expect(() => resolveRedirect(HUB, 'http://hub.example/tiny.gguf')).toThrow(/from https to http/)
  expect(() => resolveRedirect(HUB, 'file:///etc/passwd')).toThrow(/invalid URL/)
  expect(() => resolveRedirect(HUB, 'https://')).toThrow(/invalid URL/)
})
