import { usageError } from '../base/errors.ts'

/** Reads the address of a server, such as `berth.example.com`. Without a scheme, only loopback gets http. */
export function parseServerUrl(text: string): string {
  const hasScheme = /^[a-z][a-z\d+.-]*:\/\//i.test(text)
  const isLoopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?(\/|$)/i.test(text)
  const url = parse(hasScheme ? text : `${isLoopback ? 'http' : 'https'}://${text}`)
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.hostname === '') {
    throw usageError(`${text} is not the address of a server. Write one such as https://berth.example.com.`)
  }
  return url.origin
}

/** Whether others on the network could read what is sent to this origin. */
export function isReadable(origin: string): boolean {
  const { protocol, hostname } = new URL(origin)
  return protocol === 'http:' && !/^(localhost|127\..*|\[::1\])$/.test(hostname)
}

function parse(text: string): URL | null {
  try {
    return new URL(text)
  } catch {
    return null
  }
}
