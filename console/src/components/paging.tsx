import type { ReactNode } from 'react'
import { formatNumber } from '../format.ts'
import { text } from '../text/index.ts'
import { Button } from './button.tsx'

interface PagingProps {
  /** From 1 */
  page: number
  pageSize: number
  total: number
  /** A link to a page, whose search parameter is absent for the first one */
  renderLink: (page: string | undefined, label: string) => ReactNode
}

/** Which part of a list a page shows, and the way to the pages beside it. */
export function Paging({ page, pageSize, total, renderLink }: PagingProps) {
  const turn = (to: number, label: string) =>
    to < 1 || to > Math.ceil(total / pageSize) ? (
      <Button size="small" disabled>
        {label}
      </Button>
    ) : (
      <Button asChild size="small">
        {renderLink(to === 1 ? undefined : String(to), label)}
      </Button>
    )
  return (
    <nav
      aria-label={text.paging.pages}
      className="flex items-center justify-between gap-4 border-t px-5 py-3"
    >
      <p className="tabular text-muted">
        {text.paging.range(
          formatNumber((page - 1) * pageSize + 1),
          formatNumber(Math.min(total, page * pageSize)),
          formatNumber(total),
        )}
      </p>
      <div className="flex gap-2">
        {turn(page - 1, text.paging.previous)}
        {turn(page + 1, text.paging.next)}
      </div>
    </nav>
  )
}
