import { X } from 'lucide-react'
import { Dialog } from 'radix-ui'
import { Button } from '../../components/button.tsx'
import { text } from '../../text/index.ts'
import type { ParameterErrors } from './parameters.ts'
import { ParametersForm } from './parameters-form.tsx'

interface ParametersDrawerProps {
  onClose: () => void
  errors: ParameterErrors
}

/** The parameters on a screen that is too narrow for the side panel. */
export function ParametersDrawer({ onClose, errors }: ParametersDrawerProps) {
  return (
    <Dialog.Root open onOpenChange={onClose}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 bg-black/45" />
        <Dialog.Content className="fixed inset-y-0 right-0 z-50 flex w-80 max-w-[88vw] flex-col bg-surface shadow-xl focus:outline-none">
          <header className="flex items-start justify-between gap-4 px-5 pt-5 pb-3">
            <div className="grid gap-0.5">
              <Dialog.Title className="font-semibold">{text.playground.parameters}</Dialog.Title>
              <Dialog.Description className="text-[0.8125rem] text-muted">
                {text.playground.parametersHint}
              </Dialog.Description>
            </div>
            <Dialog.Close asChild>
              <Button variant="quiet" size="tiny" aria-label={text.common.close}>
                <X />
              </Button>
            </Dialog.Close>
          </header>
          <div className="overflow-y-auto px-5 pt-1 pb-5">
            <ParametersForm errors={errors} />
          </div>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
