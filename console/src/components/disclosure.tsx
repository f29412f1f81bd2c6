import { ChevronRight } from 'lucide-react'
import type { ReactNode } from 'react'
import { classNames } from '../class-names.ts'

interface DisclosureProps {
  summary: ReactNode
  children: ReactNode
  className?: string
}

/** A box that shows its content when a person opens it. */
export function Disclosure({ summary, children, className }: DisclosureProps) {
  return (
    <details className={classNames('group rounded-lg border', className)}>
      <summary className="flex cursor-pointer items-center gap-2 rounded-lg px-4 py-2.5 font-medium marker:content-none hover:bg-subtle [&::-webkit-details-marker]:hidden">
        <ChevronRight aria-hidden className="size-4 text-muted transition-transform group-open:rotate-90" />
        {summary}
      </summary>
      <div className="border-t">{children}</div>
    </details>
  )
}
