import { useNavigate } from '@tanstack/react-router'
import { Download } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { UnlabeledSelect } from '../../components/field.tsx'
import { useToasts } from '../../components/toast.tsx'
import { text } from '../../text/index.ts'
import { readGroup, usageGroups } from './groups.ts'
import type { UsageGroup } from './groups.ts'
import { useDownloadUsage } from './queries.ts'
import { RangeControls } from './range-controls.tsx'
import type { DayRange, RequestedDays } from './range.ts'

interface UsageHeaderProps {
  /** undefined for days */
  group: UsageGroup | undefined
  requested: RequestedDays
  /** The loaded range */
  shown: DayRange | undefined
  /** undefined while loading */
  isUnused: boolean | undefined
}

/** The heading of the usage, with the choice of grouping and days, and the download of the rows. */
export function UsageHeader({ group, requested, shown, isUnused }: UsageHeaderProps) {
  const navigate = useNavigate()
  const downloading = useDownloadUsage()
  const toasts = useToasts()
  return (
    <div className="flex flex-wrap items-center gap-2">
      <h2 className="mr-auto font-semibold">{text.usage.by[group ?? 'day']}</h2>
      <UnlabeledSelect
        aria-label={text.usage.groupBy}
        value={group ?? 'day'}
        onChange={({ target }) =>
          void navigate({ to: '/usage', search: { ...requested, group: readGroup(target.value) } })
        }
      >
        {(['day', ...usageGroups] as const).map((value) => (
          <option key={value} value={value}>
            {text.usage.groupHeads[value]}
          </option>
        ))}
      </UnlabeledSelect>
      <RangeControls requested={requested} shown={shown} />
      <Button
        disabled={shown === undefined || isUnused === true}
        busy={downloading.isPending}
        onClick={() =>
          shown && downloading.mutate({ shown, group: group ?? 'day' }, { onError: toasts.error })
        }
      >
        <Download aria-hidden />
        {text.usage.download}
      </Button>
    </div>
  )
}
