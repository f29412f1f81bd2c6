import { createElement, use } from 'react'
import type { ComponentType, ReactNode } from 'react'
import { retryLoad } from './retry-load.ts'

/** A component whose code loads when it first renders, or before with `load`. */
interface LazyPart<Props> {
  (props: Props): ReactNode
  load: () => Promise<unknown>
}

/** Ends with the code that views have waited for so far */
let shown: Promise<unknown> = Promise.resolve()

/**
 * Loads a component's code when it first renders; retries while the server is unreachable. Once loaded, it
 * renders at once. After React's `lazy`, a fallback would stay for 300 ms even so.
 */
export function lazyPart<Props extends object>(load: () => Promise<ComponentType<Props>>): LazyPart<Props> {
  let part: ComponentType<Props> | undefined
  let loading: Promise<ComponentType<Props>> | undefined
  const keep = async (loader: typeof load) => (part ??= await loader())
  const wait = () => {
    const code = keep(retryLoad(load))
    shown = Promise.allSettled([shown, code])
    return code
  }
  const Part = (props: Props) => createElement(part ?? use((loading ??= wait())), props)
  return Object.assign(Part, { load: () => keep(load) })
}

/** Loads code ahead, after what a view waits for. If that fails, the first use loads it. */
export function loadWhenIdle(load: () => Promise<unknown>) {
  // Safari has no requestIdleCallback.
  const schedule = window.requestIdleCallback ?? setTimeout
  // Not what comes later: a part may itself wait until the browser is idle.
  const earlier = shown
  schedule(() => void earlier.then(load).catch(() => undefined))
}
