/** A checkbox with a label and, below it, what checking it means. */
export function CheckField({
  label,
  hint,
  checked,
  onChange,
}: {
  label: string
  hint: string
  checked: boolean
  onChange: (checked: boolean) => void
}) {
  return (
    <label className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-2.5">
      <input
        type="checkbox"
        className="mt-1 self-start accent-accent"
        checked={checked}
        onChange={({ target }) => onChange(target.checked)}
      />
      <span className="font-medium">{label}</span>
      <span className="col-start-2 text-[0.8125rem] text-muted">{hint}</span>
    </label>
  )
}
