import { lazy, type ComponentType } from 'react'

const pause = 1_000

/** Whether code could not be loaded because the server is away, `true`, or has come since, `false`. */
export const awayEvent = 'berth:away'

/**
 * Loads a page's code, and while the server can't be reached tries again: the router would reload the page, and with it lose all
 * that is in sight. Where the server is there but has not this code any more, a newer console, the router does just that.
 */
export function keepTrying<Module>(load: () => Promise<Module>): () => Promise<Module> {
  return async () => {
    for (let away = false; ;) {
      try {
        const module = await load()
        if (away) tell(false)
        return module
      } catch (error) {
        if (await isServerThere()) throw error
        if (!away) tell(true)
        away = true
        await new Promise((resolve) => setTimeout(resolve, pause))
      }
    }
  }
}

/** A part of a page whose code is loaded when it is first shown, as `lazy` does it; waits while the server can't be reached. */
export function lazyPart<Props>(load: () => Promise<ComponentType<Props>>) {
  const loadPart = keepTrying(load)
  return lazy(async () => ({ default: await loadPart() }))
}

async function isServerThere(): Promise<boolean> {
  try {
    await fetch('/healthz', { cache: 'no-store' })
    return true
  } catch {
    return false
  }
}

function tell(away: boolean) {
  window.dispatchEvent(new CustomEvent<boolean>(awayEvent, { detail: away }))
}
