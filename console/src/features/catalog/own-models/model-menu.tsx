import { EllipsisVertical } from 'lucide-react'
import { useState } from 'react'
import type { DeployableModel } from '../../../contract.ts'
import { Button } from '../../../components/button.tsx'
import { Menu, MenuItem } from '../../../components/menu.tsx'
import { text } from '../../../text/index.ts'
import { EditModelDialog } from './edit-model-dialog.tsx'
import { RemoveModelDialog } from './remove-model-dialog.tsx'

/** What an admin can do with a model of the organization. */
export function ModelMenu({ model }: { model: DeployableModel }) {
  const [open, setOpen] = useState<'edit' | 'remove' | null>(null)
  const close = () => setOpen(null)
  return (
    <>
      <Menu
        trigger={
          <Button variant="quiet" aria-label={text.ownModels.actions(model.display_name)}>
            <EllipsisVertical />
          </Button>
        }
      >
        <MenuItem onSelect={() => setOpen('edit')}>{text.ownModels.edit}</MenuItem>
        <MenuItem dangerous onSelect={() => setOpen('remove')}>
          {text.ownModels.remove}
        </MenuItem>
      </Menu>
      {open === 'edit' && <EditModelDialog model={model} onClose={close} />}
      {open === 'remove' && <RemoveModelDialog model={model} onClose={close} />}
    </>
  )
}
