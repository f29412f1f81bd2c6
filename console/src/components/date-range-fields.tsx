import { TextField } from './field.tsx'

type Edges = 'from' | 'to'

interface DateRangeFieldsProps {
  labels: Record<Edges, string>
  range: Partial<Record<Edges, string | undefined>>
  onChange: (change: Partial<Record<Edges, string | undefined>>) => void
}

/** The first and the last day of a filter; an empty field leaves that side open. */
export function DateRangeFields({ labels, range, onChange }: DateRangeFieldsProps) {
  return (['from', 'to'] as const).map((edge) => (
    <TextField
      key={edge}
      type="date"
      label={labels[edge]}
      value={range[edge] ?? ''}
      onChange={({ target }) => onChange({ [edge]: target.value || undefined })}
    />
  ))
}
