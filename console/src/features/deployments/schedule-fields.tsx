import { Trash2 } from 'lucide-react'
import { useMemo } from 'react'
import { listTimeZones, readTimeZone } from '../../browser.ts'
import { Button } from '../../components/button.tsx'
import { SelectField, TextField } from '../../components/field.tsx'
import { formatWeekdayAndTime } from '../../format.ts'
import { describeRule, nameDay } from '../../schedules.ts'
import { text } from '../../text/index.ts'
import { findRuleError, hasRoom, listNextChanges, toDraftedSchedules, toRule } from './schedule-draft.ts'
import type { RuleDraft } from './schedule-draft.ts'

const words = text.schedules
const week = [1, 2, 3, 4, 5, 6, 0]
const shownChanges = 4

interface ScheduleFieldsProps {
  rules: readonly RuleDraft[]
  /** The policy's */
  mostInstances: number
  onChange: (rules: readonly RuleDraft[]) => void
}

/** Edits the schedules of a policy, and previews their next times. */
export function ScheduleFields({ rules, mostInstances, onChange }: ScheduleFieldsProps) {
  const timeZone = rules.at(-1)?.timeZone ?? readTimeZone()
  const add = (rule: RuleDraft) => onChange([...rules, rule])
  return (
    <fieldset className="grid gap-3">
      <legend className="font-medium">{words.title}</legend>
      <p className="text-[0.8125rem] text-muted">{words.hint}</p>
      {rules.map((rule, index) => (
        <RuleFields
          key={index}
          rule={rule}
          error={findRuleError(rule, mostInstances)}
          onChange={(next) => onChange(rules.with(index, next))}
          onRemove={() => onChange(rules.toSpliced(index, 1))}
        />
      ))}
      <div className="flex flex-wrap gap-2">
        <Button
          size="small"
          disabled={!hasRoom(rules, 'hours')}
          onClick={() =>
            add({
              kind: 'hours',
              days: week.slice(0, 5),
              from: '08:00',
              until: '18:00',
              timeZone,
              instances: '1',
            })
          }
        >
          {words.addHours}
        </Button>
        <Button
          size="small"
          variant="quiet"
          disabled={!hasRoom(rules, 'time')}
          onClick={() => add({ kind: 'time', cron: '0 8 1 * *', timeZone, instances: '1' })}
        >
          {words.addTime}
        </Button>
      </div>
      {rules.length > 0 && rules.every((rule) => findRuleError(rule, mostInstances) === undefined) && (
        <NextChanges rules={rules} />
      )}
    </fieldset>
  )
}

interface RuleFieldsProps {
  rule: RuleDraft
  error: string | undefined
  onChange: (rule: RuleDraft) => void
  onRemove: () => void
}

function RuleFields({ rule, error, onChange, onRemove }: RuleFieldsProps) {
  const name = error === undefined ? describeRule(toRule(rule)) : words.incomplete
  return (
    <div role="group" aria-label={name} className="grid gap-3 rounded-lg border p-3">
      <div className="flex items-start justify-between gap-3">
        <p className="min-w-0 font-medium wrap-anywhere">{name}</p>
        <Button variant="quiet" size="tiny" aria-label={words.remove(name)} onClick={onRemove}>
          <Trash2 />
        </Button>
      </div>
      {rule.kind === 'hours' ? (
        <>
          <Days days={rule.days} onChange={(days) => onChange({ ...rule, days })} />
          <div className="grid grid-cols-2 items-start gap-3 sm:grid-cols-3">
            <TextField
              label={words.from}
              type="time"
              value={rule.from}
              onChange={({ target }) => onChange({ ...rule, from: target.value })}
            />
            <TextField
              label={words.until}
              type="time"
              value={rule.until}
              onChange={({ target }) => onChange({ ...rule, until: target.value })}
            />
            <Instances rule={rule} onChange={onChange} />
          </div>
        </>
      ) : (
        <div className="grid grid-cols-2 items-start gap-3">
          <TextField
            label={words.pattern}
            spellCheck={false}
            autoComplete="off"
            className="font-mono text-[0.8125rem]"
            value={rule.cron}
            onChange={({ target }) => onChange({ ...rule, cron: target.value })}
          />
          <Instances rule={rule} onChange={onChange} />
        </div>
      )}
      <TimeZone value={rule.timeZone} onChange={(timeZone) => onChange({ ...rule, timeZone })} />
      {error !== undefined && (
        <p role="alert" className="text-[0.8125rem] text-bad">
          {error}
        </p>
      )}
    </div>
  )
}

function Instances({ rule, onChange }: Pick<RuleFieldsProps, 'rule' | 'onChange'>) {
  return (
    <TextField
      label={words.instances}
      inputMode="numeric"
      autoComplete="off"
      value={rule.instances}
      onChange={({ target }) => onChange({ ...rule, instances: target.value })}
    />
  )
}

function Days({ days, onChange }: { days: readonly number[]; onChange: (days: number[]) => void }) {
  const toggle = (day: number) =>
    days.includes(day) ? days.filter((other) => other !== day) : [...days, day]
  return (
    <div role="group" aria-label={words.days} className="flex flex-wrap gap-1.5">
      {week.map((day) => (
        <label
          key={day}
          className="relative flex h-8 cursor-pointer items-center rounded-md border px-2.5 text-[0.8125rem] font-medium text-muted has-checked:border-accent has-checked:text-ink has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent"
        >
          <input
            type="checkbox"
            className="absolute inset-0 cursor-pointer appearance-none rounded-md focus-visible:outline-none"
            checked={days.includes(day)}
            onChange={() => onChange(toggle(day))}
          />
          {nameDay(day)}
        </label>
      ))}
    </div>
  )
}

function TimeZone({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const zones = useMemo(() => [...new Set([value, 'UTC', ...listTimeZones()])].toSorted(), [value])
  return (
    <SelectField label={words.timeZone} value={value} onChange={({ target }) => onChange(target.value)}>
      {zones.map((zone) => (
        <option key={zone}>{zone}</option>
      ))}
    </SelectField>
  )
}

/** When the schedules change the least instances next. */
function NextChanges({ rules }: { rules: readonly RuleDraft[] }) {
  const changes = listNextChanges(toDraftedSchedules(rules), shownChanges)
  return (
    <div className="grid gap-1 text-[0.8125rem] text-muted">
      <p>{words.next(readTimeZone())}</p>
      <ol className="tabular grid gap-0.5">
        {changes.map(({ at, instances }, index) => (
          <li key={index} className="flex flex-wrap justify-between gap-x-4">
            <time dateTime={at.toISOString()}>{formatWeekdayAndTime(at)}</time>
            <span>{words.change(instances)}</span>
          </li>
        ))}
      </ol>
    </div>
  )
}
