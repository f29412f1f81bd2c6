import type { paths } from '../contract.ts'

const retryDelayMilliseconds = 1_000

/** Window event: detail `true` if the server was unreachable for code, `false` once it succeeds. */
export const unreachableEvent = 'berth:server-unreachable'

/**
 * Loads code and retries while the server is unreachable, because the router would reload the page and lose
 * its state. If the server responds but a second try fails, the router reloads: a newer console was deployed
 * without this file, or the browser remembers failed imports (Chromium before 154, Safari).
 */
export function retryLoad<Module>(load: () => Promise<Module>): () => Promise<Module> {
  return async () => {
    let announced = false
    let wasReachable = false
    try {
      while (true) {
        try {
          return await load()
        } catch (error) {
          const reachable = await isServerReachable()
          if (reachable && wasReachable) throw error
          wasReachable = reachable
          if (reachable) continue
          if (!announced) announce(true)
          announced = true
          await new Promise((resolve) => setTimeout(resolve, retryDelayMilliseconds))
        }
      }
    } finally {
      if (announced) announce(false)
    }
  }
}

async function isServerReachable(): Promise<boolean> {
  try {
    await fetch('/healthz' satisfies keyof paths, { cache: 'no-store' })
    return true
  } catch {
    return false
  }
}

function announce(unreachable: boolean) {
  window.dispatchEvent(new CustomEvent<boolean>(unreachableEvent, { detail: unreachable }))
}
