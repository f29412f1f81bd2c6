import { useSuspenseQuery } from '@tanstack/react-query'
import { Ban } from 'lucide-react'
import { organizationQuery } from '../api/session.ts'
import { text } from '../text/index.ts'

/** Shown while the operator has suspended the current organization, or after closing it. */
export function SuspensionNotice() {
  const { data: organization } = useSuspenseQuery(organizationQuery)
  if (organization.status === 'active') return null
  return (
    <div role="status" className="flex items-center gap-x-3 bg-bad-soft px-4 py-2 text-bad sm:px-8">
      <Ban aria-hidden className="size-4 shrink-0" />
      <p className="min-w-0 flex-1 wrap-anywhere">{text.shell[organization.status](organization.name)}</p>
    </div>
  )
}
