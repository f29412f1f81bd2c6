import type { ReactNode } from 'react'
import { useDocumentTitle } from '../../components/page.tsx'
import { Wordmark } from '../../components/wordmark.tsx'

interface AuthLayoutProps {
  title: string
  description?: ReactNode
  children?: ReactNode
  /** Links below the box, to the other auth pages. */
  footer?: ReactNode
}

/** The layout of the auth pages: a centered box without navigation. */
export function AuthLayout({ title, description, children, footer }: AuthLayoutProps) {
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

/** Classes of a text link on an auth page. */
export const authLink =
  'rounded-sm font-medium text-accent underline-offset-4 hover:text-accent-strong hover:underline'
