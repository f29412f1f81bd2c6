const retryDelayMilliseconds = 1_000

/** Window event whose detail is `true` when loading code failed because the server is unreachable, `false` once it succeeds. */
export const unreachableEvent = 'berth:server-unreachable'

/**
 * Loads code and retries while the server is unreachable. Without the retry the router would reload the page and lose its state.
 * If the server answers but no longer has this file (a newer console was deployed), the error reaches the router, which reloads.
 */
export function retryLoad<Module>(load: () => Promise<Module>): () => Promise<Module> {
  return async () => {
    for (let unreachable = false; ;) {
      try {
        const module = await load()
        if (unreachable) announce(false)
        return module
      } catch (error) {
        if (await isServerReachable()) throw error
        if (!unreachable) announce(true)
        unreachable = true
        await new Promise((resolve) => setTimeout(resolve, retryDelayMilliseconds))
      }
    }
  }
}

async function isServerReachable(): Promise<boolean> {
  try {
    await fetch('/healthz', { cache: 'no-store' })
    return true
  } catch {
    return false
  }
}

function announce(unreachable: boolean) {
  window.dispatchEvent(new CustomEvent<boolean>(unreachableEvent, { detail: unreachable }))
}
