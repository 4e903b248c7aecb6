"""Upstream's internal types of workloads, autoscaling, storage and devices, in the notation of pod_template/internal_types.py.

They are needed only where a message prints a whole struct.
"""

SHAPES = """
PodTemplateSpec +ObjectMeta Spec:PodSpec
DeploymentStrategy Type RollingUpdate:*RollingUpdateDeployment
RollingUpdateDeployment MaxUnavailable:IntOrString MaxSurge:IntOrString
DaemonSetUpdateStrategy Type RollingUpdate:*RollingUpdateDaemonSet
RollingUpdateDaemonSet MaxUnavailable:IntOrString MaxSurge:IntOrString
StatefulSetUpdateStrategy Type RollingUpdate:*RollingUpdateStatefulSetStrategy
RollingUpdateStatefulSetStrategy Partition:int MaxUnavailable:*IntOrString
PodFailurePolicy Rules:[]PodFailurePolicyRule
PodFailurePolicyRule Action OnExitCodes:*PodFailurePolicyOnExitCodesRequirement
  OnPodConditions:[]PodFailurePolicyOnPodConditionsPattern
PodFailurePolicyOnExitCodesRequirement ContainerName:*string Operator Values:[]int
PodFailurePolicyOnPodConditionsPattern Type Status
SuccessPolicy Rules:[]SuccessPolicyRule
SuccessPolicyRule SucceededIndexes:*string SucceededCount:*int
UncountedTerminatedPods Succeeded:[]string Failed:[]string
PodDisruptionBudgetSpec MinAvailable:*IntOrString Selector:*Selector MaxUnavailable:*IntOrString
  UnhealthyPodEvictionPolicy:*string
VolumeAttachmentSpec Attacher Source:VolumeAttachmentSource NodeName
VolumeAttachmentSource PersistentVolumeName:*string InlineVolumeSpec:*Raw
CSINodeDriver Name NodeID=nodeID TopologyKeys:[]string Allocatable:*VolumeNodeResources
VolumeNodeResources Count:*int
DeviceAttribute IntValue=int:*int BoolValue=bool:*bool StringValue=string:*string VersionValue=version:*string
  IntValues=ints:[]int BoolValues=bools:[]bool StringValues=strings:[]string VersionValues=versions:[]string
ResourceClaimTemplateSpec +ObjectMeta Spec:ResourceClaimSpec
ResourceClaimSpec Devices:DeviceClaim
DeviceClaim Requests:[]DeviceRequest Constraints:[]DeviceConstraint Config:[]DeviceClaimConfiguration
DeviceRequest Name Exactly:*ExactDeviceRequest FirstAvailable:[]DeviceSubRequest
ExactDeviceRequest DeviceClassName Selectors:[]DeviceSelector AllocationMode Count:int AdminAccess:*bool
  Tolerations:[]DeviceToleration Capacity:*CapacityRequirements
DeviceSubRequest Name DeviceClassName Selectors:[]DeviceSelector AllocationMode Count:int
  Tolerations:[]DeviceToleration Capacity:*CapacityRequirements
CapacityRequirements Requests:{}Quantity
DeviceSelector CEL=cel:*CELDeviceSelector
CELDeviceSelector Expression
DeviceConstraint Requests:[]string MatchAttribute:*string DistinctAttribute:*string
DeviceClaimConfiguration Requests:[]string +DeviceConfiguration
DeviceConfiguration Opaque:*OpaqueDeviceConfiguration
OpaqueDeviceConfiguration Driver Parameters:Raw
DeviceToleration Key Operator Value Effect TolerationSeconds:*int
AllocationResult Devices:DeviceAllocationResult NodeSelector:*Raw AllocationTimestamp:*string
DeviceAllocationResult Results:[]DeviceRequestAllocationResult Config:[]DeviceAllocationConfiguration
DeviceRequestAllocationResult Request Driver Pool Device AdminAccess:*bool Tolerations:[]DeviceToleration
  BindingConditions:[]string BindingFailureConditions:[]string ShareID=shareID:*string ConsumedCapacity:{}Quantity
DeviceAllocationConfiguration Source Requests:[]string +DeviceConfiguration
RoleRef APIGroup=apiGroup Kind Name
FlowSchemaSpec PriorityLevelConfiguration:PriorityLevelConfigurationReference MatchingPrecedence:int
  DistinguisherMethod:*FlowDistinguisherMethod Rules:[]PolicyRulesWithSubjects
PriorityLevelConfigurationReference Name
FlowDistinguisherMethod Type
PolicyRulesWithSubjects Subjects:[]FlowSubject ResourceRules:[]ResourcePolicyRule
  NonResourceRules:[]NonResourcePolicyRule
FlowSubject Kind User:*NamedFlowSubject Group:*NamedFlowSubject ServiceAccount:*ServiceAccountFlowSubject
NamedFlowSubject Name
ServiceAccountFlowSubject Namespace Name
ResourcePolicyRule Verbs:[]string APIGroups=apiGroups:[]string Resources:[]string ClusterScope:bool Namespaces:[]string
NonResourcePolicyRule Verbs:[]string NonResourceURLs:[]string
PriorityLevelConfigurationSpec Type Limited:*LimitedPriorityLevelConfiguration
  Exempt:*ExemptPriorityLevelConfiguration
LimitedPriorityLevelConfiguration NominalConcurrencyShares:int LimitResponse:LimitResponse LendablePercent:*int
  BorrowingLimitPercent:*int
LimitResponse Type Queuing:*QueuingConfiguration
QueuingConfiguration Queues:int HandSize:int QueueLengthLimit:int
ExemptPriorityLevelConfiguration NominalConcurrencyShares:*int LendablePercent:*int
"""
