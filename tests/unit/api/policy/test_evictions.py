from tiphys.api.policy import evictions


def eviction(**options):
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}, "deleteOptions": options}


# v1.36.4 pkg/registry/core/pod/storage/eviction.go:129 (Create)
def test_name_must_be_the_pods():
    refused = evictions.check(eviction(), "other")
    assert refused is not None
    assert (refused.code, refused.message) == (400, "name in URL does not match name in Eviction object")
    assert evictions.check(eviction(), "p") is None


def test_reads_may_not_be_skipped():
    refused = evictions.check(eviction(ignoreStoreReadErrorWithClusterBreakingPotential=True), "p")
    assert refused is not None
    assert refused.code == 422
    assert "can not be set for pod eviction, try after removing the option" in refused.message
    assert refused.message.startswith('Eviction.policy "p" is invalid: deleteOptions.ignoreStoreReadError')


def test_options_of_the_delete():
    assert evictions.delete_options(eviction(gracePeriodSeconds=3)) == {"gracePeriodSeconds": 3}
    assert evictions.delete_options(eviction(), ["All"]) == {"dryRun": ["All"]}
