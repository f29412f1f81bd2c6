import { createPortal } from 'react-dom'
import { text } from '../../text/index.ts'

/** Dots at the first page of the navigation and at the button that opens it on phones. */
export function NewsMarks({ count }: { count: number }) {
  if (count === 0) return null
  const places = [
    [`nav[aria-label="${text.shell.navigation}"]`, 'top-3 right-2.5'],
    [`header:has([aria-label="${text.shell.openNavigation}"])`, 'top-3 left-9'],
  ] as const
  // Their code is part of each first view, this one isn't.
  return places.flatMap(([selector, position]) =>
    [...document.querySelectorAll(selector)].map((place, index) =>
      createPortal(
        <span className={`pointer-events-none absolute size-2 rounded-full bg-accent ${position}`}>
          <span className="sr-only">{text.news.unseen(count)}</span>
        </span>,
        place,
        `${selector} ${index}`,
      ),
    ),
  )
}
