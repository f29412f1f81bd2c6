import { useState } from 'react'
import type { ServiceMember } from '../../../contract.ts'
import { CheckField } from '../../../components/check-field.tsx'
import { Dialog } from '../../../components/dialog.tsx'
import { TextField } from '../../../components/field.tsx'
import { fieldErrors, Form } from '../../../components/form.tsx'
import { useToasts } from '../../../components/toast.tsx'
import { text } from '../../../text/index.ts'
import { useUpdateServiceMember } from './queries.ts'

const words = text.serviceMembers

/** Whether the requests of a program may name members, and with which header. */
export function NamingDialog({ member, onClose }: { member: ServiceMember; onClose: () => void }) {
  const change = useUpdateServiceMember()
  const toasts = useToasts()
  const [mayName, setMayName] = useState(member.may_name_members)
  const onSuccess = () => {
    toasts.success(text.common.saved)
    onClose()
  }
  return (
    <Dialog onClose={onClose} title={words.namingTitle(member.name)} description={words.namingDescription}>
      <Form<'member_header'>
        submitLabel={text.common.save}
        busy={change.isPending}
        error={change.error}
        onSubmit={({ member_header: header }) =>
          change.mutate(
            {
              id: member.id,
              changes: { may_name_members: mayName, member_header: (mayName && header?.trim()) || null },
            },
            { onSuccess },
          )
        }
      >
        <CheckField label={words.mayName} hint={words.mayNameHint} checked={mayName} onChange={setMayName} />
        {mayName && (
          <TextField
            label={words.memberHeader}
            hint={words.memberHeaderHint}
            name="member_header"
            autoComplete="off"
            maxLength={100}
            defaultValue={member.member_header ?? ''}
            error={fieldErrors(change.error).member_header}
          />
        )}
      </Form>
    </Dialog>
  )
}
