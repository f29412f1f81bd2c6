import { useEffect } from 'react'
import type { ReactNode } from 'react'
import { classNames } from '../class-names.ts'
import { text } from '../text/index.ts'

interface PageProps {
  title: string
  /** Replaces the visible title, for a heading that is more than text. */
  heading?: ReactNode
  /** Renders above the title, such as a link back to a list. */
  before?: ReactNode
  description?: ReactNode
  actions?: ReactNode
  children: ReactNode
}

/** The layout of a page: document title, heading, actions and content. */
export function Page({ title, heading, before, description, actions, children }: PageProps) {
  useDocumentTitle(title)
  return (
    <div className="mx-auto grid w-full max-w-6xl gap-6 px-4 py-6 sm:px-8 sm:py-8">
      <header className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="grid min-w-0 flex-1 basis-80 gap-1">
          {before}
          <h1 id="heading" className="text-xl font-semibold tracking-tight wrap-anywhere">
            {heading ?? title}
          </h1>
          {description && <div className="max-w-prose wrap-anywhere text-muted">{description}</div>}
        </div>
        {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </header>
      {children}
    </div>
  )
}

export function useDocumentTitle(title: string) {
  useEffect(() => {
    document.title = `${title} · ${text.common.product}`
  }, [title])
}

interface SectionProps {
  /** The anchor of the section. */
  id?: string
  title?: ReactNode
  description?: ReactNode
  actions?: ReactNode
  children: ReactNode
  className?: string
  /** Removes the padding, for tables and lists. */
  flush?: boolean
}

/** A titled box on a page. */
export function Section({ id, title, description, actions, children, className, flush }: SectionProps) {
  return (
    <section
      {...(id !== undefined && { id, ref: scrollIfAddressed })}
      className={classNames('min-w-0 scroll-mt-6 overflow-hidden rounded-xl border bg-surface', className)}
    >
      {(title || actions) && (
        <header className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 border-b px-5 py-3">
          <div className="grid gap-0.5">
            {title && <h2 className="font-semibold">{title}</h2>}
            {description && <p className="text-[0.8125rem] text-muted">{description}</p>}
          </div>
          {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
        </header>
      )}
      <div className={flush ? '' : 'p-5'}>{children}</div>
    </section>
  )
}

/** The router scrolls to the anchor of an address before a section with data has loaded. */
function scrollIfAddressed(section: HTMLElement | null) {
  if (section !== null && location.hash === `#${section.id}`) section.scrollIntoView()
}

/** A labeled number or short text, inside a `<dl>`. */
export function Figure({ label, value, hint }: { label: ReactNode; value: ReactNode; hint?: ReactNode }) {
  return (
    <div className="grid content-start gap-0.5">
      <dt className="text-[0.8125rem] text-muted">{label}</dt>
      <dd className="tabular text-lg font-semibold tracking-tight">{value}</dd>
      {hint && <dd className="text-xs text-muted">{hint}</dd>}
    </div>
  )
}
