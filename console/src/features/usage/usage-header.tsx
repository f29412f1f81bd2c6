import { useNavigate } from '@tanstack/react-router'
import { Download } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { UnlabeledSelect, UnlabeledInput } from '../../components/field.tsx'
import { useToasts } from '../../components/toast.tsx'
import { text } from '../../text/index.ts'
import { readGroup, usageGroups } from './groups.ts'
import type { UsageGroup } from './groups.ts'
import { matchPreset, lastDays, recentDays } from './range.ts'
import type { DayRange, RequestedDays, RangePreset } from './range.ts'
import { useDownloadUsage } from './use-download-usage.ts'

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
      <span className="w-full" />
      <UnlabeledSelect
        className="flex-1 sm:flex-none"
        aria-label={text.usage.groupBy}
        value={group ?? 'day'}
        onChange={({ target }) =>
          void navigate({
            to: '/usage',
            search: ({ measure }) => ({ ...requested, group: readGroup(target.value), measure }),
          })
        }
      >
        {(['day', ...usageGroups] as const).map((value) => (
          <option key={value} value={value}>
            {text.usage.groupHeads[value]}
          </option>
        ))}
      </UnlabeledSelect>
      <RangeControls requested={requested} shown={shown} />
    </div>
  )
}

/** Selects the days in the URL (`requested`); `shown` is the range in the server's response. */
function RangeControls({ requested, shown }: { requested: RequestedDays; shown: DayRange | undefined }) {
  const navigate = useNavigate()
  const from = shown?.from ?? requested.from ?? ''
  const to = shown?.to ?? requested.to ?? ''
  // Unapplied input, valid until the shown range changes.
  const [typed, setTyped] = useState<{ of: string; days: DayRange }>()
  const draft = typed?.of === from + to ? typed.days : { from, to }

  const show = (days: RequestedDays, replace = false) =>
    void navigate({ to: '/usage', search: ({ group, measure }) => ({ ...days, group, measure }), replace })
  const choose = (choice: RangePreset) => {
    if (choice === 'period') show({})
    else if (choice !== 'custom') show(lastDays(Number(choice)))
  }
  const change = (change: RequestedDays) => {
    const days = { from: change.from ?? draft.from, to: change.to ?? draft.to }
    setTyped({ of: from + to, days })
    // Typing a year passes through 0002, 0020 and 0202.
    if (days.from >= '2000' && days.to >= '2000') show(days, true)
  }
  return (
    <>
      <UnlabeledSelect
        className="flex-1 sm:flex-none"
        aria-label={text.usage.range}
        value={matchPreset(requested)}
        onChange={({ target }) => choose(target.value as RangePreset)}
      >
        <option value="period">{text.usage.ranges.period}</option>
        {recentDays.map((count) => (
          <option key={count} value={count}>
            {text.usage.ranges[count]}
          </option>
        ))}
        {matchPreset(requested) === 'custom' && <option value="custom">{text.usage.ranges.custom}</option>}
      </UnlabeledSelect>
      <div className="flex w-full items-center gap-2 sm:w-auto">
        <UnlabeledInput
          type="date"
          aria-label={text.usage.from}
          className="min-w-0 flex-1 px-2! sm:w-36 sm:flex-none sm:px-3!"
          value={draft.from}
          max={draft.to}
          onChange={({ target }) => change({ from: target.value })}
        />
        <span aria-hidden className="text-muted">
          –
        </span>
        <UnlabeledInput
          type="date"
          aria-label={text.usage.to}
          className="min-w-0 flex-1 px-2! sm:w-36 sm:flex-none sm:px-3!"
          value={draft.to}
          min={draft.from}
          onChange={({ target }) => change({ to: target.value })}
        />
      </div>
    </>
  )
}
