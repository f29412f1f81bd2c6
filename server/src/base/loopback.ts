const loopbackNames = new Set(['localhost', '127.0.0.1', '[::1]'])

/** True for two names of one port on this machine, which a browser treats as different sites. */
export function differOnlyInLoopbackName(one: URL, other: URL): boolean {
  return (
    one.protocol === other.protocol &&
    one.port === other.port &&
    one.hostname !== other.hostname &&
    loopbackNames.has(one.hostname) &&
    loopbackNames.has(other.hostname)
  )
}

/** Whether the host of a URL or of a `Host` header, without its port, always means the machine itself. */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === 'localhost' || isLoopbackAddress(hostname.replace(/^\[(.*)\]$/, '$1'))
}

/** Whether an IP address is the machine's own: 127.0.0.0/8 or ::1, also as an IPv4-mapped IPv6 address. */
export function isLoopbackAddress(address: string): boolean {
  return address === '::1' || /^(::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/i.test(address)
}
