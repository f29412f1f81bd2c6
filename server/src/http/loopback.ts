const loopbackNames = new Set(['localhost', '127.0.0.1', '[::1]'])

/** True if two URLs lead to the same port of this machine under different names, which a browser treats as different sites. */
export function differOnlyInLoopbackName(one: URL, other: URL): boolean {
  return (
    one.protocol === other.protocol &&
    one.port === other.port &&
    one.hostname !== other.hostname &&
    loopbackNames.has(one.hostname) &&
    loopbackNames.has(other.hostname)
  )
}
