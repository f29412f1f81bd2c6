import type { ComponentProps, ReactNode } from 'react'
import { Button } from '../../components/button.tsx'

/** A button in the header of a view. In a narrow header its label is a tooltip. */
export function Action({
  icon,
  label,
  ...props
}: { icon: ReactNode; label: string } & ComponentProps<'button'>) {
  return (
    <Button
      variant="quiet"
      aria-label={label}
      title={label}
      className="aria-expanded:bg-subtle aria-expanded:text-ink @max-3xl:size-9 @max-3xl:px-0"
      {...props}
    >
      {icon}
      <span className="@max-3xl:hidden">{label}</span>
    </Button>
  )
}
