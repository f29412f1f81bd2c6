import type { ReactNode } from 'react'
import { classNames } from '../class-names.ts'

/** A table that scrolls sideways within its box where the screen is narrow; `label` names it for screen readers. */
export function Table({ label, head, children }: { label: string; head: ReactNode; children: ReactNode }) {
  return (
    // A region that scrolls must be reachable by keyboard.
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
  /** Numbers stand at the right, in digits of one width. */
  numeric?: boolean
}

/** The heading of a column. */
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

/** A cell of a row. */
export function Cell({ children, className, numeric }: CellProps) {
  return <td className={classNames('px-5 py-3', numeric && 'tabular text-right', className)}>{children}</td>
}
