import { lazy } from 'react'
import type { ComponentType } from 'react'
import { retryLoad } from './retry-load.ts'

/** Loads a component's code when it first renders, as `lazy`; retries while the server is unreachable. */
export function lazyPart<Props>(load: () => Promise<ComponentType<Props>>) {
  const loadPart = retryLoad(load)
  return lazy(async () => ({ default: await loadPart() }))
}

/** Loads code ahead without delaying the first view. If that fails, the first use loads it. */
export function loadWhenIdle(load: () => Promise<unknown>) {
  // Safari has no requestIdleCallback.
  const schedule = window.requestIdleCallback ?? setTimeout
  schedule(() => void load().catch(() => undefined))
}
