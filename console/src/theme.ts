import { useSyncExternalStore } from 'react'

export type Theme = 'system' | 'light' | 'dark'

const year = 365 * 24 * 60 * 60
const listeners = new Set<() => void>()

/** The theme that the person chose in this browser. */
export function readTheme(): Theme {
  const [, stored] = /(?:^|; )theme=(light|dark)(?:;|$)/.exec(document.cookie) ?? []
  return stored === 'light' || stored === 'dark' ? stored : 'system'
}

/** Keeps the choice, where the server sees it too and sends the page in these colours, and shows it at once. */
export function chooseTheme(theme: Theme) {
  document.cookie = `theme=${theme}; path=/; max-age=${theme === 'system' ? 0 : year}; samesite=lax`
  applyTheme()
  for (const listener of listeners) listener()
}

/** Puts the theme on the root element, where styles.css looks. */
export function applyTheme() {
  const theme = readTheme()
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

/** The chosen theme, for what shows it. */
export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, readTheme)
}
