"""pods/binding: the scheduler's last word. Also POST to the old `bindings` collection."""

from tiphys.api.core.pods import PODS
from tiphys.api.core.pods.binding import bind, validate_binding
from tiphys.apiserver.call import Call
from tiphys.apiserver.rest import answers, storing, writing
from tiphys.apiserver.subresources import bodies
from tiphys.base.http.messages import Response
from tiphys.machinery import errors
from tiphys.machinery.errors import ApiError


async def create(call: Call) -> Response:
    binding = bodies.read(call, bodies.BINDING)
    metadata = binding["metadata"]
    name = call.info.name or metadata.get("name", "")
    if not name:
        raise errors.bad_request("Name parameter required.")
    attributes = call.attributes("CREATE", name, binding, None, {})
    attributes.subresource = "binding"
    await call.backend.admission.admit(attributes)
    await call.backend.admission.validate(attributes)
    if metadata.get("name", "") != name:
        raise errors.bad_request("name in URL does not match name in Binding object")
    problems = [str(each) for each in validate_binding(binding)]
    if problems:
        # Upstream takes this for a mistake of its own.
        raise ApiError(500, "", problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")

    async def attempt() -> None:
        current = await call.backend.store.latest(PODS.prefix, f"{call.namespace}/{name}")
        if current is None:
            raise errors.not_found("", "pods", name)
        pod = current.tree()
        writing.check_uid(PODS, binding, pod, current.name)
        writing.check_exact_version(PODS, binding, pod, current.name)
        await storing.replace(call, current, bind(pod, binding, call.now))

    await storing.read_modify_write(attempt, call)
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return answers.encoded(call, status, 201)
