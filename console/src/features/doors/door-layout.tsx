import type { ReactNode } from 'react'
import { useDocumentTitle } from '../../components/page.tsx'
import { Wordmark } from '../../shell/wordmark.tsx'

interface DoorLayoutProps {
  title: string
  description?: ReactNode
  children?: ReactNode
  /** What stands below the box: the other doors. */
  footer?: ReactNode
}

/** The frame of the pages before the door: one thing to do, in the middle, without navigation. */
export function DoorLayout({ title, description, children, footer }: DoorLayoutProps) {
  useDocumentTitle(title)
  return (
    // Placed from above, so that nothing jumps when an error makes the box taller.
    <main className="grid min-h-dvh content-start justify-items-center gap-6 bg-canvas px-4 pt-[max(2rem,12dvh)] pb-10">
      <Wordmark />
      <div className="grid w-full max-w-[25rem] gap-5 rounded-xl border bg-surface p-6 sm:p-8">
        <header className="grid gap-1 wrap-anywhere">
          <h1 className="text-lg font-semibold tracking-tight">{title}</h1>
          {description && <div className="text-muted">{description}</div>}
        </header>
        {children}
      </div>
      {footer && (
        <footer className="flex flex-wrap justify-center gap-x-5 gap-y-2 text-muted">{footer}</footer>
      )}
    </main>
  )
}

/** The looks of a link in the text of a door. */
export const doorLink =
  'rounded-sm font-medium text-accent underline-offset-4 hover:text-accent-strong hover:underline'
