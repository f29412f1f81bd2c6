import { useSyncExternalStore } from 'react'

export type Theme = 'system' | 'light' | 'dark'

const year = 365 * 24 * 60 * 60
const listeners = new Set<() => void>()

/** The theme chosen in this browser. */
export function readTheme(): Theme {
  const [, stored] = /(?:^|; )theme=(light|dark)(?:;|$)/.exec(document.cookie) ?? []
  return stored === 'light' || stored === 'dark' ? stored : 'system'
}

/** Applies a theme and stores it in a cookie. The server sets `data-theme` on the root by it. */
export function chooseTheme(theme: Theme) {
  document.cookie = `theme=${theme}; path=/; max-age=${theme === 'system' ? 0 : year}; samesite=lax`
  document.documentElement.dataset.theme = theme
  for (const listener of listeners) listener()
}

export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, readTheme)
}
