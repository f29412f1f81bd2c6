import { expect, test } from 'vitest'
import { resolveRedirect } from './fetch-bytes.ts'

const hubUrl = new URL('https://hub.example/berth/tiny/resolve/main/tiny.gguf')

test('follows relative redirects, to other hosts, and from http to https', () => {
  expect(resolveRedirect(hubUrl, '/moved/tiny.gguf').href).toBe('https://hub.example/moved/tiny.gguf')
  expect(resolveRedirect(hubUrl, 'https://cdn.example/blob?s=1').href).toBe('https://cdn.example/blob?s=1')
  expect(resolveRedirect(new URL('http://a.example/x'), 'https://b.example/y').href).toBe(
    'https://b.example/y',
  )
})

test('rejects redirects from https to http and to other schemes', () => {
  expect(() => resolveRedirect(hubUrl, 'http://hub.example/tiny.gguf')).toThrow(/from https to http/)
  expect(() => resolveRedirect(hubUrl, 'file:///etc/passwd')).toThrow(/invalid URL/)
  expect(() => resolveRedirect(hubUrl, 'https://')).toThrow(/invalid URL/)
})
