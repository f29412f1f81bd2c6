import { useEffect } from 'react'

/** Where the link to a model was in the window when it was followed, by its entry of the history. */
let place: { entry: unknown; path: string; top: number } | undefined

/** Heights of rows that were never in view are estimates, and become exact within a few frames. */
const frames = 3

const readEntry = (): unknown => (window.history.state as { __TSR_key?: string } | null)?.__TSR_key
const readTop = (link: Element) => link.getBoundingClientRect().top

/** Remembers the place of a link that is followed. */
export function rememberPlace(link: HTMLAnchorElement): void {
  place = { entry: readEntry(), path: link.pathname, top: readTop(link) }
}

/** Back in the list, scrolls the link that was followed to its place. The router comes only near it. */
export function useReturnPlace(): void {
  useEffect(() => {
    if (place && place.entry === readEntry()) settle(place.path, place.top, frames)
  }, [])
}

function settle(path: string, top: number, left: number): void {
  const link = [...document.links].find(({ pathname }) => pathname === path)
  if (!link || left === 0) return
  window.scrollBy(0, readTop(link) - top)
  requestAnimationFrame(() => settle(path, top, left - 1))
}
