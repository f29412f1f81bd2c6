import { lazy, type ComponentType } from 'react'
import { retryLoad } from './retry-load.ts'

/** A component whose code is loaded when it first renders, as with `lazy`; retries while the server is unreachable. */
export function lazyPart<Props>(load: () => Promise<ComponentType<Props>>) {
  const loadPart = retryLoad(load)
  return lazy(async () => ({ default: await loadPart() }))
}
