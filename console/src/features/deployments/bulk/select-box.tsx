import { HeadCell } from '../../../components/table.tsx'
import type { Deployment } from '../../../contract.ts'
import { nameDeployment } from '../../../domain/deployments/names.ts'
import { text } from '../../../text/index.ts'

/** The ids of the selected deployments */
export type Selection = ReadonlySet<string>

interface SelectProps {
  selection: Selection
  onSelect: (selection: Selection) => void
}

/** Selects a deployment for an action on several. */
export function SelectBox({
  deployment,
  idSuffix,
  selection,
  onSelect,
}: SelectProps & { deployment: Deployment; idSuffix: string }) {
  const { id } = deployment
  return (
    <Box
      label={text.bulk.select(`${nameDeployment(deployment)} ${idSuffix}`.trim())}
      checked={selection.has(id)}
      onChange={(checked) =>
        onSelect(new Set(checked ? [...selection, id] : [...selection].filter((one) => one !== id)))
      }
    />
  )
}

/** The head of the column of boxes. Selects all deployments of the page, or none. */
export function SelectAll({
  deployments,
  selection,
  onSelect,
}: SelectProps & { deployments: readonly Deployment[] }) {
  const all = deployments.every(({ id }) => selection.has(id))
  return (
    <HeadCell className="w-0 pr-0">
      <Box
        label={text.bulk.selectAll}
        checked={all}
        mixed={!all && deployments.some(({ id }) => selection.has(id))}
        onChange={(checked) => onSelect(new Set(checked ? deployments.map(({ id }) => id) : []))}
      />
    </HeadCell>
  )
}

interface BoxProps {
  label: string
  checked: boolean
  mixed?: boolean
  onChange: (checked: boolean) => void
}

/** A checkbox with room around it, above the link that covers the row */
function Box({ label, checked, mixed = false, onChange }: BoxProps) {
  return (
    <label className="relative z-10 -m-2 grid size-8 cursor-pointer place-items-center">
      <input
        ref={(box) => {
          if (box) box.indeterminate = mixed
        }}
        type="checkbox"
        aria-label={label}
        className="size-4 accent-accent"
        checked={checked}
        onChange={({ target }) => onChange(target.checked)}
      />
    </label>
  )
}
