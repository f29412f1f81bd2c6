import type { ReactNode } from 'react'
import { classNames } from '../class-names.ts'

/** A table that scrolls horizontally on a narrow screen. `label` is its accessible name. */
export function Table({ label, head, children }: { label: string; head: ReactNode; children: ReactNode }) {
  return (
    // Keyboard users must be able to focus a scrollable region.
    <div
      role="region"
      aria-label={label}
      tabIndex={0}
      className="relative overflow-x-auto focus-visible:-outline-offset-2"
    >
      <table className="w-full border-collapse text-left">
        <thead>
          <tr className="border-b text-[0.8125rem] text-muted">{head}</tr>
        </thead>
        <tbody className="divide-y">{children}</tbody>
      </table>
    </div>
  )
}

interface CellProps {
  children?: ReactNode
  className?: string
  /** Aligns numbers to the right with tabular digits. */
  numeric?: boolean
}

export function HeadCell({ children, className, numeric }: CellProps) {
  return (
    <th
      scope="col"
      className={classNames('px-5 py-2.5 font-medium whitespace-nowrap', numeric && 'text-right', className)}
    >
      {children}
    </th>
  )
}

export function Cell({ children, className, numeric }: CellProps) {
  return <td className={classNames('px-5 py-3', numeric && 'tabular text-right', className)}>{children}</td>
}
